"""The curricula staged and static."""

import numpy as np
import pytest

from andrea_core import Region, ScenarioError, Sources
from andrea_core.testing.worlds import make_context, make_sources
from andrea_plugins.constraints import Caps, Exclude, Floors
from andrea_plugins.curricula import Staged, StageSpec, Static

WARMUP = ("hermes3-general", "hermes3-creative", "hermes3-roleplay", "chat", "smoltalk", "oasst", "gutenberg")
NAMES = (*WARMUP, "dictionary", "synthetic-chat", "repo-docs", "repo-docstrings", "repo-commits", "irc", "p", "q", "r")
POLISH = (Exclude(("repo-docs", "repo-docstrings")), Floors({"hermes3-general": 0.7}), Caps({"dictionary": 0.25}))
SEED_LESSON = Staged(
    (StageSpec("warmup", 20_000, WARMUP), StageSpec("firehose", 112_619), StageSpec("polish", constraints=POLISH))
)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (0, "warmup"),
        (19_999, "warmup"),
        (20_000, "firehose"),
        (112_618, "firehose"),
        (112_619, "polish"),
        (10**9, "polish"),
    ],
)
def test_a_border_belongs_to_the_stage_that_begins_there(step, name):
    stage = SEED_LESSON.stage(None, step)

    assert stage.name == name
    assert stage.start <= step < stage.until


def test_the_seed_lesson_walks_through_three_geometries():
    sources = make_sources(NAMES)
    context = make_context(sources, 0, np.random.default_rng(0))
    dimensions = []
    for step in (0, 20_000, 112_619):
        stage = SEED_LESSON.stage(SEED_LESSON.start(sources), step)
        outside = [name for name in NAMES if stage.sources is not None and name not in stage.sources]
        region = Region.of(NAMES, exclude=outside)
        for constraint in stage.constraints:
            region = constraint.restrict(region, context)
        dimensions.append(region.dimension)

    assert dimensions == [6, 15, 13]
    assert region.lower[0] == 0.7


def test_stages_without_sources_of_their_own_have_all():
    assert SEED_LESSON.stage(None, 20_000).sources is None


def test_a_step_after_the_last_border_is_an_error_that_names_the_remedy():
    ending = Staged((StageSpec("only", 10),))

    assert ending.stage(None, 9).until == 10
    with pytest.raises(ScenarioError, match="the last stage, 'only', ends at step 10, but step 10 is asked for; leave"):
        ending.stage(None, 10)


def test_a_misspelt_source_is_named_with_its_stage():
    with pytest.raises(ScenarioError, match="stage 'w', sources: no source is called 'chta'; did you mean 'chat'"):
        Staged((StageSpec("w", sources=("chta",)),)).start(Sources(("chat", "irc"), np.ones(2, np.int64)))


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ([], "at least one stage"),
        ([("a", None), ("b", None)], "stage 'a' needs `until`"),
        ([("a", 20), ("b", 20)], "stage 'b' ends at step 20, which is not after step 20, where stage 'a' ends"),
        ([("a", 20), ("b", 10), ("c", None)], "borders must grow"),
        ([("a", 20), ("a", None)], "two stages are called 'a'"),
    ],
)
def test_lists_that_do_not_fit_together_are_refused(stages, message):
    with pytest.raises(ValueError, match=message):
        Staged(tuple(StageSpec(*stage) for stage in stages))


def test_a_stage_without_sources_or_with_one_twice_is_refused():
    with pytest.raises(ValueError, match="stage 'x' has no sources"):
        StageSpec("x", sources=())
    with pytest.raises(ValueError, match="stage 'x' names source 'a' twice"):
        StageSpec("x", sources=("a", "b", "a"))
    with pytest.raises(ValueError, match="at least 1"):
        StageSpec("x", until=0)


def test_a_scenarios_scale_reaches_the_borders():
    import attrs

    assert attrs.fields(StageSpec).until.metadata["andrea.span"] is True


def test_static_is_one_stage_with_everything():
    curriculum = Static()
    first, last = curriculum.stage(None, 0), curriculum.stage(None, 10**12)

    assert first == last
    assert (first.sources, first.constraints) == (None, ())
