"""One box of the report: a title, one sentence on how to read it, and figures or a piece of HTML."""

import attrs
import plotly.graph_objects as go


@attrs.frozen(eq=False)
class Panel:
    """Figures, side by side where there is room, or a piece of HTML under a title.

    `how` says in one sentence how to read it, `more` what a careful reader wants to know besides; both are plain text.
    `html` is already safe HTML.
    """

    key: str
    title: str
    how: str
    more: str = ""
    figures: tuple[go.Figure, ...] = ()
    html: str = ""
