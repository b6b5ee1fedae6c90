"""The page is whole for every shape of run, loads nothing from elsewhere, and shows a run's texts as texts."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs

from andrea_core import RunError
from andrea_core.report.page import SECTIONS, write_report
from andrea_core.runs.store import open_run


class Reader(HTMLParser):
    """Collects sections, what tags load, figures' places, and the JSON blobs by id."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loads: list[str] = []
        self.places: list[str] = []
        self.blobs: dict[str, str] = {}
        self.opened: list[str] = []
        self.scripts = 0
        self._blob: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.opened.append(tag)
        self.loads += [found[name] for name in ("src", "href", "data", "srcset", "poster", "action") if name in found]
        if tag == "section":
            self.sections.append(found["id"])
        if "data-spec" in found:
            self.places.append(found["data-spec"])
        if tag == "script":
            self.scripts += found.get("type") != "application/json"
            self._blob = found.get("id") if found.get("type") == "application/json" else None

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._blob = None

    def handle_data(self, data: str) -> None:
        if self._blob:
            self.blobs[self._blob] = self.blobs.get(self._blob, "") + data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_every_section_is_there_whatever_was_recorded(shape: str, page_of: Callable[[str], str]) -> None:
    expected = ["overview", *(section.key for section in SECTIONS), "scenario"]
    assert expected == read(page_of(shape)).sections


def test_the_page_loads_nothing_from_outside_itself(shape: str, page_of: Callable[[str], str]) -> None:
    text = page_of(shape)
    reader = read(text)
    assert all(load.startswith("#") or load == "data:," for load in reader.loads)
    assert not {"iframe", "object", "embed", "base"} & set(reader.opened)
    own = text.replace(get_plotlyjs(), "")
    assert not re.search(r"https?:|@import|url\(|fetch\(|XMLHttpRequest|import\(", own)


def test_the_drawing_library_is_inlined_once_and_the_page_stays_light(page_of: Callable[[str], str]) -> None:
    text = page_of("full")
    assert text.count(get_plotlyjs()) == 1
    assert read(text).scripts == 4
    assert len(text.encode()) < 8e6


def test_a_run_of_two_hundred_thousand_steps_stays_below_eight_megabytes(tmp_path: Path, synthetic: object) -> None:
    folder = synthetic.write_run(tmp_path / "long", steps=200_000)  # type: ignore[attr-defined]
    assert write_report(folder).stat().st_size < 8e6


def test_every_figure_has_its_numbers_as_valid_json(shape: str, page_of: Callable[[str], str]) -> None:
    reader = read(page_of(shape))
    assert set(reader.places) == {key for key in reader.blobs if key.startswith("spec-")}
    for blob in reader.blobs.values():
        assert json.loads(blob)


@pytest.mark.parametrize(
    ("shape", "missing"),
    [("full", set()), ("empty", {"walk-0", "weights-0", "heldout-0", "training-0", "ledger-0"}), ("one", {"walk-0"})],
)
def test_figures_are_left_out_exactly_where_there_is_nothing_to_draw(
    shape: str, missing: set[str], page_of: Callable[[str], str]
) -> None:
    wanted = {"walk-0", "weights-0", "heldout-0", "training-0", "scores-0", "ledger-0", "epochs-0", "timing-0"}
    drawn = {place.removeprefix("spec-") for place in read(page_of(shape)).places}
    assert missing == wanted - drawn - ({"scores-0", "epochs-0", "timing-0"} if shape == "empty" else set())


def test_markup_in_samples_events_and_scenario_is_shown_not_run(page_of: Callable[[str], str]) -> None:
    text = page_of("full")
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt; &amp; then" in text
    assert "run &lt;b&gt;started&lt;/b&gt;" in text
    assert "# &lt;not html&gt;" in text


def test_markup_in_names_can_end_no_script_and_open_no_tag(tmp_path: Path, synthetic: object) -> None:
    evil = ["</script><img src=x onerror=alert(1)>", '"><svg onload=alert(2)>', "plain"]
    folder = synthetic.write_run(tmp_path / "evil", sources=evil, steps=120)  # type: ignore[attr-defined]
    reader = read(write_report(folder).read_text(encoding="utf-8"))
    assert not {"img", "svg"} & set(reader.opened)
    assert reader.scripts == 4
    assert json.loads(reader.blobs["ternary-data"])["sources"] == evil


def test_the_header_names_digest_device_versions_and_totals(page_of: Callable[[str], str]) -> None:
    text = page_of("full")
    for fact in (
        "digest <b>3f9a7c21d0b4</b>",
        "device <b>cpu</b>",
        "torch <b>2.13.0</b>",
        "<b>600</b>",
        "<b>1.23 M</b>",
    ):
        assert fact in text


def test_only_an_unfinished_run_says_where_its_record_ends(page_of: Callable[[str], str]) -> None:
    assert "This record ends at step 250 of 600" in page_of("killed")
    assert "This record ends" not in page_of("full")


def test_writing_replaces_an_older_page_and_leaves_nothing_else(tmp_path: Path, synthetic: object) -> None:
    folder = tmp_path / "run"
    synthetic.empty_run(folder, ["a", "b"])  # type: ignore[attr-defined]
    (folder / "report.html").write_text("old", encoding="utf-8")
    written = write_report(folder / "run.zarr")
    assert written == folder / "report.html"
    assert written.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert {"report.html", "run.json", "run.zarr", "scenario.toml"} == {path.name for path in folder.iterdir()}


def test_a_folder_that_is_no_run_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"not a run folder"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_page_changes_nothing_in_the_record(folder_of: Callable[[str], Path]) -> None:
    folder = folder_of("two")
    before = {path: path.stat().st_mtime_ns for path in (folder / "run.zarr").rglob("*")}
    write_report(folder)
    assert before == {path: path.stat().st_mtime_ns for path in (folder / "run.zarr").rglob("*")}
    assert open_run(folder).sources == ["a", "b"]
