"""The packed stream and the sampler: nothing repeated within an epoch, any position readable, order a pure function."""

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from andrea_core.data.sampler import Sampler, SamplerSettings
from andrea_core.data.stream import PackedStream
from andrea_core.rng import generator

SEPARATOR = 256


def stream(lengths, context=8, seed=1, name="s"):
    """Documents whose every token says which document and place it is."""
    tokens = np.arange(sum(lengths), dtype=np.uint16) % 256
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return PackedStream(name, tokens, offsets, separator=SEPARATOR, context=context, seed=seed), tokens, offsets


def flat(one, rows, context):
    return np.concatenate([one.row(i)[:context] for i in range(rows)])


@given(st.lists(st.integers(1, 30), min_size=1, max_size=12), st.integers(1, 20))
def test_every_epoch_is_each_document_once_behind_a_separator(lengths, context):
    one, tokens, offsets = stream(lengths, context)
    size = one.epoch_tokens
    text = flat(one, 3 * size // context + 1, context)
    documents = sorted(tokens[a:b].tolist() for a, b in pairwise(offsets))
    for epoch in range(3):
        part = text[epoch * size : (epoch + 1) * size].tolist()
        found, at = [], 0
        while at < len(part):
            assert part[at] == SEPARATOR
            end = part.index(SEPARATOR, at + 1) if SEPARATOR in part[at + 1 :] else len(part)
            found.append(part[at + 1 : end])
            at = end

        assert sorted(found) == documents


@given(st.lists(st.integers(1, 30), min_size=2, max_size=12), st.integers(0, 200))
def test_any_row_can_be_read_first_and_a_rows_last_token_is_the_next_rows_first(lengths, position):
    one, *_ = stream(lengths)
    again, *_ = stream(lengths)

    assert again.row(position).tolist() == one.row(position).tolist()
    assert one.row(position)[-1] == one.row(position + 1)[0]


def test_the_order_differs_between_epochs_sources_and_seeds_only():
    lengths = [5] * 40
    base, *_ = stream(lengths)
    per_epoch = base.epoch_tokens // 8

    assert (
        flat(base, per_epoch, 8).tolist()
        != np.concatenate([base.row(per_epoch + i)[:8] for i in range(per_epoch)]).tolist()
    )
    assert base.row(0).tolist() != stream(lengths, name="t")[0].row(0).tolist()
    assert base.row(0).tolist() != stream(lengths, seed=2)[0].row(0).tolist()
    assert base.row(0).tolist() == stream(lengths)[0].row(0).tolist()


def test_a_small_sources_epochs_are_counted():
    one, *_ = stream([15])

    assert one.epochs(6) == 6 * 8 / 16


class TestSampler:
    """Batches follow the plan, and a plan is a pure function."""

    def sampler(self, draw="apportioned"):
        streams = [stream([20, 30], name=f"s{i}")[0] for i in range(3)]
        return Sampler(SamplerSettings(rows=4, draw=draw), streams), streams

    def test_rows_are_the_planned_rows_of_the_planned_sources(self):
        sampler, streams = self.sampler()
        plan = sampler.plan(sampler.start(), np.array([0.5, 0.3, 0.2]), np.ones(3, bool), 5, generator(1, "x"))
        seen = np.zeros(3, int)
        for step in range(5):
            for source, row in zip(plan.source[step], sampler.batch(plan, step), strict=True):
                assert row.tolist() == streams[source].row(int(seen[source])).tolist()
                seen[source] += 1

        assert plan.after.position.tolist() == seen.tolist() == [10, 6, 4]

    def test_an_excluded_sources_debt_is_forgiven_when_the_active_set_changes(self):
        sampler, _ = self.sampler()
        weights = np.array([0.5, 0.3, 0.2])
        state = sampler.plan(sampler.start(), weights, np.ones(3, bool), 1, generator(1, "x")).after
        assert (state.carry != 0).any()
        active = np.array([True, True, False])
        after = sampler.plan(state, np.array([0.6, 0.4, 0.0]), active, 7, generator(1, "x")).after

        assert after.carry[2] == 0
        assert np.abs(after.carry).max() < 1

    def test_multinomial_draws_depend_on_the_generator_alone(self):
        sampler, _ = self.sampler("multinomial")
        weights = np.array([0.5, 0.5, 0.0])
        plans = [
            sampler.plan(sampler.start(), weights, weights > 0, 50, generator(1, "draw", phase)).source
            for phase in (0, 0, 1)
        ]

        assert plans[0].tolist() == plans[1].tolist() != plans[2].tolist()
        assert set(np.unique(plans[0])) == {0, 1}
