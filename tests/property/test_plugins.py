"""The two invariants, for every built-in policy, under random constraint sets and hostile rewards; and kin."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from andrea_core import Moment, Proposal, Region
from andrea_core.testing.geometry import feasible_bounds
from andrea_core.testing.strategies import moments, observations, outcomes
from andrea_core.testing.worlds import draw_ledger, make_context, make_sources
from andrea_plugins.adjusts import RelativeFloors, TrustRegion
from andrea_plugins.constraints import Caps, Exclude, Floors
from andrea_plugins.curricula import Staged, StageSpec
from andrea_plugins.policies import Dice, Face, Fixed, Proportional, Random, Ucb1, Uniform
from andrea_plugins.policies.ucb1 import Tally
from andrea_plugins.rewards import Improvement, Loss

POLICIES = {
    "random": lambda names: Random(),
    "uniform": lambda names: Uniform(),
    "proportional": lambda names: Proportional(temperature=2.0),
    "fixed": lambda names: Fixed({name: 1.0 / (k + 1) for k, name in enumerate(names)}),
    "ucb1": lambda names: Ucb1(),
    "ucb1, a whole step": lambda names: Ucb1(c=100.0, step=1.0),
    "dice": lambda names: Dice((Face(share=0.3, policy=Random()), Face(share=0.7, policy=Ucb1()))),
}
ADJUSTS = {
    "none": lambda names: None,
    "relative floors": lambda names: RelativeFloors(dict.fromkeys(names[:2], 0.6)),
    "trust region": lambda names: TrustRegion(0.05),
}


@st.composite
def built_regions(draw):
    """Draw a region as a stage builds it: by the constraint sets floors, caps and exclude, in some order."""
    stated = draw(feasible_bounds(max_sources=6))
    sets = [Floors(stated.floors), Caps(stated.caps), Exclude(stated.exclude)]
    context = make_context(make_sources(stated.names), 0, np.random.default_rng(0))
    region = Region.of(stated.names)
    for constraint in draw(st.permutations(sets)):
        region = constraint.restrict(region, context)
    return region, tuple(name for name, top in zip(region.names, region.upper, strict=True) if top == 0)


def wish(policy, state, moment, rng):
    answer = policy.propose(state, moment, rng)
    target = answer.target if isinstance(answer, Proposal) else answer
    assert target.shape == moment.weights.shape
    assert np.isfinite(target).all()
    assert (target >= 0).all()
    assert target.sum() > 0
    assert (target[~moment.active] == 0).all()
    return target / target.sum()


@pytest.mark.parametrize("adjusted", ADJUSTS)
@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data(), divergence=st.sampled_from(["euclidean", "kl"]))
def test_every_policy_lands_inside_the_region_and_leaves_excluded_sources_at_exactly_0(
    name, adjusted, data, divergence
):
    region, excluded = data.draw(built_regions())
    sources = make_sources(region.names)
    policy, adjust = POLICIES[name](region.names), ADJUSTS[adjusted](region.names)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    state, weights = policy.start(sources), region.centre
    for phase in range(3):
        moment = Moment(phase, phase, "trial", sources, region, weights, draw_ledger(len(sources), rng))
        requested = wish(policy, state, moment, rng)
        requested = requested if adjust is None else adjust.adjust(requested, moment)
        weights = region.project(requested, divergence)

        assert region.check(weights) == []
        for source in excluded:
            weight = weights[sources.index(source)]
            assert weight == 0.0
            assert not np.signbit(weight)
        state = policy.update(state, data.draw(outcomes(weights, phase)))


@pytest.mark.parametrize("name", POLICIES)
@given(moment=moments(), seed=st.integers(0, 2**32 - 1))
def test_every_policy_answers_its_first_moment_legally(name, moment, seed):
    policy = POLICIES[name](moment.sources.names)

    requested = wish(policy, policy.start(moment.sources), moment, np.random.default_rng(seed))

    assert moment.region.check(moment.region.project(requested)) == []


@given(moment=moments(), step=st.floats(0.01, 1.0), data=st.data())
def test_ucb1_walks_along_the_segment_to_the_vertex_that_it_records(moment, step, data):
    policy = Ucb1(step=step)
    state = policy.update(policy.start(moment.sources), data.draw(outcomes(moment.weights)))
    proposal = policy.propose(state, moment, np.random.default_rng(0))
    vertex = proposal.notes["vertex"]

    assert moment.region.contains(vertex)
    assert proposal.target == pytest.approx((1 - step) * moment.weights + step * vertex, abs=1e-12)
    assert np.isnan(proposal.notes["score"]).tolist() == (~moment.active).tolist()


@given(st.integers(2, 6), st.randoms(use_true_random=False))
def test_ucb1_does_not_care_in_which_order_the_sources_stand(count, random):
    rng = np.random.default_rng(random.randrange(2**32))
    order = np.array(random.sample(range(count), count))
    names = np.array([f"s{k}" for k in range(count)])
    caps = dict(zip(names, rng.uniform(1.2 / count, 1.0, count), strict=True))
    tally = Tally(rng.uniform(1, 9, count), rng.uniform(1, 9, count), rng.normal(size=count))
    weights = rng.dirichlet(np.ones(count))
    answers = []
    for index in (np.arange(count), order):
        region = Region.of(tuple(names[index]), caps=caps)
        sources, ledger = make_sources(region.names), draw_ledger(count, rng)
        moment = Moment(0, 0, "trial", sources, region, weights[index], ledger)
        state = Tally(tally.pulls[index], tally.known[index], tally.reward[index])
        answers.append(Ucb1().propose(state, moment, rng).target)

    assert answers[1] == pytest.approx(answers[0][order], abs=1e-12)


@pytest.mark.parametrize("reward", [Improvement(), Improvement(form="andrea"), Improvement(normaliser="none"), Loss()])
@given(data=st.data(), count=st.integers(1, 5))
def test_rewards_are_finite_where_a_source_was_seen_and_nan_where_it_was_not(reward, data, count):
    state = reward.start(make_sources([f"s{k}" for k in range(count)]))
    weights = np.full(count, 1.0 / count)
    before = np.zeros(count, bool)
    for phase in range(3):
        observation = data.draw(observations(weights, phase))
        scores, state = reward.score(state, observation, np.random.default_rng(phase))
        rows = observation.rows_by_source()

        assert not np.isinf(scores).any()
        assert np.isnan(scores[rows == 0]).all()
        assert np.isfinite(scores[(rows > 0) & before]).all()
        before |= rows > 0


@given(moment=moments(), floors=st.lists(st.floats(0, 1), min_size=12, max_size=12), seed=st.integers(0, 2**32 - 1))
def test_relative_floors_raise_then_normalise_and_never_feed_an_excluded_source(moment, floors, seed):
    requested = moment.region.sample(np.random.default_rng(seed))
    table = dict(zip(moment.sources.names, floors, strict=False))
    weights = RelativeFloors(table).adjust(requested, moment)
    raised = np.maximum(requested, [table[name] for name in moment.sources.names])

    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert (weights[~moment.active] == 0).all()
    assert weights[moment.active] == pytest.approx((raised / raised[moment.active].sum())[moment.active])


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6, unique=True), st.integers(0, 2 * 10**6))
def test_every_step_of_a_staged_curriculum_belongs_to_exactly_one_stage(borders, step):
    borders = sorted(borders)
    specs = [StageSpec(f"stage {k}", until) for k, until in enumerate(borders)]
    staged = Staged((*specs, StageSpec("last")))
    stage = staged.stage(None, step)

    assert stage.name == ("last" if step >= borders[-1] else f"stage {sum(step >= border for border in borders)}")
    assert stage.start <= step < stage.until
    assert staged.stage(None, stage.start) == stage
    assert stage.name == "last" or staged.stage(None, stage.until).start == stage.until
