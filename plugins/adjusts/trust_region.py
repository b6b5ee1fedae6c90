"""Trust region: a wish is followed along the segment from the present weights, no farther than a given distance."""

import attrs

from andrea_core import Moment, Vector, positive, total_variation


@attrs.frozen
class TrustRegion:
    """Go from the present weights straight to the wish, but no farther than `delta` in total variation.

    Total variation, sum |p - q| / 2, is the share of rows that change hands. On the segment it grows in proportion, so
    the point at exactly `delta` is w + (delta / distance) (wish - w). Landing takes nothing back: for a point p that
    sums to 1 and weights w of the region, the projections p' = clip(p - theta) and clip(c p) differ from w in one
    sign by no more than p does (by the sign of theta, or of c - 1), so the landed weights are within `delta` of w too.
    With bounds on sums of sources that is not so; there the point is put on the region here, by Euclidean projection,
    and drawn back toward w if it has gone too far. Distances are from the present weights as the phase's region has
    them: where the region moves (a stage border, `anneal`, `max_change`), what that forces comes on top. An unseen
    source is treated like any other. Adjustments that follow may go farther: name this one last.
    """

    delta: float = positive(at_most=1.0)

    def adjust(self, requested: Vector, moment: Moment) -> Vector:
        """Return the wish (K,) where it is near enough, else the point of the segment at distance `delta`."""
        near = self._near(requested, moment.weights)
        stated = moment.region.stated
        if stated.groups or stated.rows:
            return self._near(moment.region.project(near), moment.weights)
        return near

    def _near(self, target: Vector, weights: Vector) -> Vector:
        distance = total_variation(target, weights)
        if distance <= self.delta:
            return target
        share = self.delta / distance
        mixed: Vector = (1.0 - share) * weights + share * target
        return mixed
