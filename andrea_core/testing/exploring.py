"""Runs a trial on many worlds that Hypothesis draws, and raises the first fault itself."""

from typing import TYPE_CHECKING

from andrea_core.errors import AndreaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import DataObject


def explore(trial: "Callable[[DataObject], None]", examples: int, seed: int) -> None:
    """Call the trial with `examples` sources of drawn data; equal seeds give equal data, nothing is stored.

    Raises the AssertionError of the first example that fails, not shrunk: a plugin that remembers or rolls dice of its
    own fails differently each time, which Hypothesis would report in place of the fault. Raises AndreaError where the
    package `hypothesis` is missing.
    """
    try:
        import hypothesis
    except ImportError as error:
        raise AndreaError("the conformance checks need the package hypothesis: pip install 'andrea[test]'") from error
    faults: list[AssertionError] = []

    def watched(data: "DataObject") -> None:
        try:
            trial(data)
        except AssertionError as fault:
            faults.append(fault)
            raise

    test = hypothesis.given(hypothesis.strategies.data())(watched)
    test = hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )(test)
    try:
        hypothesis.seed(seed)(test)()
    except Exception:
        if not faults:
            raise
    if faults:
        raise faults[0].with_traceback(None) from faults[0].__cause__
