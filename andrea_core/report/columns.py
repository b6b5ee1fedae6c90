"""Plain-text tables for the terminal: columns with headings of two lines, in blocks that fit the width."""

from collections.abc import Iterator, Sequence

import attrs
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.text import Text

GAPS = (2, 1)  # blanks between two columns: the first that lets the table fit


@attrs.frozen
class Column:
    """A heading of at most two lines over cells of text; numbers stand at the right."""

    heading: str
    cells: Sequence[str]

    @property
    def lines(self) -> tuple[str, str]:
        """The heading's upper and lower line: "after warmup" breaks after its first word."""
        first, _, rest = self.heading.partition(" ")
        return (first, rest) if rest else ("", first)

    @property
    def width(self) -> int:
        """The terminal cells that the widest text takes."""
        return max(map(cell_len, (*self.lines, *self.cells)))


@attrs.frozen
class TextTable:
    """A renderable of rich: a table without frame and without trailing blanks, and a note below it.

    `names` stands at the left of every block. Columns that do not fit the width go to a further block. The last row is
    set off when `total` holds.
    """

    names: Column
    columns: Sequence[Column]
    note: str
    total: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """Yield the lines for a width of `options.max_width` cells."""
        gap = next((gap for gap in GAPS if self._wide(self.columns, gap) <= options.max_width), GAPS[-1])
        for columns in self._blocks(options.max_width, gap):
            yield from self._block(columns, gap)
        yield Text(self.note)

    def _wide(self, columns: Sequence[Column], gap: int) -> int:
        return self.names.width + sum(gap + column.width for column in columns)

    def _blocks(self, width: int, gap: int) -> list[list[Column]]:
        blocks: list[list[Column]] = [[]]
        for column in self.columns:
            if blocks[-1] and self._wide([*blocks[-1], column], gap) > width:
                blocks.append([])
            blocks[-1].append(column)
        return blocks

    def _block(self, columns: Sequence[Column], gap: int) -> Iterator[Text]:
        heads = [self._line([c.lines[i] for c in (self.names, *columns)], columns, gap) for i in (0, 1)]
        rule = "─" * self._wide(columns, gap)
        yield from (_text(head, "bold") for head in heads if head)
        yield _text(rule)
        rows = range(len(self.names.cells))
        for i in rows:
            last = self.total and i == rows[-1]
            if last and not any(column.cells[i] for column in columns):
                continue
            if last:
                yield _text(rule)
            line = self._line([c.cells[i] for c in (self.names, *columns)], columns, gap)
            yield _text(line, "bold" if last else "")
        yield Text()

    def _line(self, cells: Sequence[str], columns: Sequence[Column], gap: int) -> str:
        name, *numbers = cells
        parts = [name + " " * (self.names.width - cell_len(name))]
        parts += [
            " " * (gap + column.width - cell_len(number)) + number
            for column, number in zip(columns, numbers, strict=True)
        ]
        return "".join(parts).rstrip()


def _text(line: str, style: str = "") -> Text:
    return Text(line, style=style, no_wrap=True, overflow="ignore")
