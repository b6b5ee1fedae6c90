"""Attention: the worked example, planted geometry with known answers, and agreement with what the model computes."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.gpt import GPT
from andrea_core.model.heads import Heads, read_heads
from andrea_core.model.quiet import quiet
from andrea_core.model.view import ModelView
from andrea_plugins.probes import attention_maps as maps, head_geometry as geometry
from andrea_plugins.probes.attention import Attention, attended, spanned


def test_the_worked_example_to_five_decimals() -> None:
    # d_k = 4: the third token's query is q; its own key and the two before it are k1, k2, k3.
    queries = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]], float)
    keys = np.array([[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]], float)

    scores = maps.scores(queries, keys)
    np.testing.assert_array_equal(scores[2], [0.5, 0.5, 0])
    np.testing.assert_array_equal(maps.causal_weights(scores)[2].round(5), [0.38365, 0.38365, 0.23270])


def test_weights_are_causal_and_sum_to_one_also_for_huge_scores() -> None:
    scores = np.random.default_rng(0).normal(size=(2, 3, 7, 7)) * 1e4
    weights = maps.causal_weights(scores)

    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-12)
    assert (weights[..., ~np.tri(7, dtype=bool)] == 0).all()


def test_equal_scores_have_all_the_entropy_and_one_hot_ones_none() -> None:
    assert maps.entropy(maps.causal_weights(np.zeros((6, 6)))) == pytest.approx(1.0, abs=1e-15)
    assert maps.entropy(np.eye(6)) == 0.0
    assert np.isnan(maps.entropy(np.ones((1, 1))))


def test_a_fully_masked_key_gives_no_nan() -> None:
    scores = np.zeros((4, 4))
    scores[:, 1] = -np.inf
    weights = maps.causal_weights(scores)

    np.testing.assert_allclose(weights[3], [1 / 3, 0, 1 / 3, 1 / 3])
    assert np.isfinite(maps.entropy(weights))


@given(st.integers(2, 12), st.floats(0, 30), st.integers(0, 2**32))
def test_entropy_is_never_below_what_the_spread_of_scores_allows(size: int, spread: float, seed: int) -> None:
    # Weights of keys whose scores differ by at most s differ by at most e^s in ratio. Entropy is concave, so over that
    # polytope it is least at a vertex: m keys of weight e^s and the rest of weight 1, before normalising.
    scores = np.random.default_rng(seed).uniform(0, spread, size)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()

    def at_vertex(many: int) -> float:
        levels = np.r_[np.full(many, 1.0), np.full(size - many, math.exp(-spread))]
        shares = levels / levels.sum()
        return float(-(shares * np.log(np.maximum(shares, 1e-300))).sum())

    found = float(-(weights * np.log(np.maximum(weights, 1e-300))).sum())
    assert found >= min(at_vertex(many) for many in range(1, size)) - 1e-9


def test_sink_and_distance_of_known_weights() -> None:
    first = np.zeros((5, 5))
    first[:, 0] = 1.0
    assert maps.sink(first) == 1.0
    assert maps.distance(first) == np.mean([0, 1, 2, 3, 4])
    assert maps.distance(np.eye(5)) == 0.0
    assert maps.sink(np.eye(5)) == 0.0


def test_only_visible_scores_count_for_the_largest() -> None:
    scores = np.zeros((3, 3))
    scores[0, 2], scores[2, 1] = 9.0, 4.0

    assert maps.largest_score(scores) == 4.0


@pytest.mark.parametrize("rank", [1, 2, 3, 5])
def test_a_planted_rank_is_found_in_the_core(rank: int) -> None:
    # W_Q' W_K = A diag(s) B' with orthonormal A, B of `rank` columns: its singular values are s.
    rng = np.random.default_rng(rank)
    left, right = (np.linalg.qr(rng.normal(size=(20, rank)))[0] for _ in range(2))
    planted = np.arange(rank, 0, -1.0)
    rotation = np.linalg.qr(rng.normal(size=(6, 6)))[0][:, :rank]
    query_weights = (left * planted @ rotation.T).T
    key_weights = (right @ rotation.T).T

    spectrum = geometry.core_spectrum(query_weights, key_weights)
    np.testing.assert_allclose(spectrum, np.r_[planted, np.zeros(6 - rank)], atol=1e-12)
    shares = planted / planted.sum()
    assert geometry.effective_rank(spectrum) == pytest.approx(math.exp(-(shares * np.log(shares)).sum()))


def test_the_core_has_the_singular_values_of_the_whole_product() -> None:
    rng = np.random.default_rng(1)
    query_weights, key_weights = rng.normal(size=(2, 3, 4, 16)), rng.normal(size=(2, 3, 4, 16))
    whole = np.linalg.svd(np.swapaxes(query_weights, -1, -2) @ key_weights, compute_uv=False)

    np.testing.assert_allclose(geometry.core_spectrum(query_weights, key_weights), whole[..., :4], rtol=1e-10)
    assert np.abs(whole[..., 4:]).max() < 1e-12


def test_components_count_what_holds_nine_tenths_of_the_squares() -> None:
    assert geometry.components(np.sqrt([0.5, 0.4, 0.1])) == 2
    assert geometry.components(np.ones(10)) == 9
    assert geometry.components(np.zeros(3)) == 0
    assert geometry.effective_rank(np.zeros(3)) == 0
    assert geometry.effective_rank(np.ones(7)) == pytest.approx(7)


def test_principal_angles_that_were_planted_are_found() -> None:
    basis = np.linalg.qr(np.random.default_rng(2).normal(size=(10, 10)))[0]
    angles = np.array([0.1, 0.7, 1.3])
    other = (basis[:, :3] * np.cos(angles) + basis[:, 3:6] * np.sin(angles)).T
    mixed = np.random.default_rng(3).normal(size=(3, 3)) @ other

    np.testing.assert_allclose(geometry.angle_cosines(basis[:, :3].T, mixed), np.cos(angles), atol=1e-12)
    found = geometry.overlaps(np.stack([basis[:, :3].T, mixed]))
    np.testing.assert_allclose(
        found, [[1, (np.cos(angles) ** 2).mean()], [(np.cos(angles) ** 2).mean(), 1]], atol=1e-12
    )


def test_orthogonal_heads_do_not_overlap_and_random_ones_do_by_their_share_of_the_width() -> None:
    blocks = np.eye(12).reshape(3, 4, 12)
    np.testing.assert_allclose(geometry.overlaps(blocks), np.eye(3), atol=1e-15)

    many = np.random.default_rng(4).normal(size=(60, 8, 64))
    spread = geometry.overlaps(many)
    pairs = spread[~np.eye(60, dtype=bool)]
    assert geometry.mean_overlap(spread) == pytest.approx(8 / 64, abs=4 * pairs.std() / math.sqrt(60 * 59 / 2))
    assert np.isnan(geometry.mean_overlap(np.ones((1, 1))))


def test_a_head_of_less_rank_overlaps_itself_by_its_rank() -> None:
    weights = np.zeros((1, 4, 9))
    weights[0, :2, :2] = [[1, 2], [3, 4]]
    assert geometry.overlaps(weights)[0, 0] == pytest.approx(0.5)
    assert geometry.overlaps(np.zeros((1, 4, 9)))[0, 0] == 0


def test_without_the_root_entropy_falls_with_the_width_of_a_head_and_with_it_it_stays() -> None:
    # Unit-variance queries and keys: scores have the variance D, and 1 after the division.
    rng = np.random.default_rng(5)
    scaled, raw = [], []
    for width in (4, 16, 64, 256):
        queries, keys = rng.normal(size=(100, 32, width)), rng.normal(size=(100, 32, width))
        scores = maps.scores(queries, keys)
        assert scores.std() == pytest.approx(1, abs=0.03)
        scaled.append(maps.entropy(maps.causal_weights(scores)).mean())
        raw.append(maps.entropy(maps.causal_weights(maps.scores(queries, keys, scaled=False))).mean())

    assert max(scaled) - min(scaled) < 0.03
    assert min(scaled) > 0.8
    assert raw == sorted(raw, reverse=True)
    # Where one score stands out, the entropy of random energies goes as their temperature, here 1 / sqrt(D).
    assert raw[3] / raw[2] == pytest.approx(0.5, abs=0.05)
    assert raw[3] < 0.1


@pytest.fixture
def model() -> GPT:
    return small_model()


def test_heads_blend_to_what_the_model_computes(model: GPT) -> None:
    tokens = np.random.default_rng(6).integers(0, 11, 8)
    heads = read_heads(model, tokens)
    blended = maps.causal_weights(maps.scores(heads.queries, heads.keys)) @ heads.values
    with quiet(model):
        stream = model.tokens(torch.tensor(tokens)[None]) + model.positions.weight[:8]
        for layer, block in enumerate(model.blocks):
            expected = block.attention(block.attention_norm(stream))[0].numpy()
            joined = torch.from_numpy(blended[layer].transpose(1, 0, 2).reshape(8, -1))
            np.testing.assert_allclose(block.attention.out(joined).numpy(), expected, rtol=1e-10, atol=1e-12)
            stream = block(stream)


def test_heads_map_the_stream_with_the_weights_they_report(model: GPT) -> None:
    tokens = np.arange(5)
    heads = read_heads(model, tokens)
    with quiet(model):
        stream = model.blocks[0].attention_norm(model.tokens(torch.tensor(tokens)) + model.positions.weight[:5])
    for weights, projected in ((heads.query_weights, heads.queries), (heads.key_weights, heads.keys)):
        np.testing.assert_allclose(stream.numpy() @ weights[0].transpose(0, 2, 1), projected[0], rtol=1e-10)


def test_no_queries_give_the_whole_entropy_and_no_core() -> None:
    zeros, other = np.zeros((1, 2, 6, 4)), np.random.default_rng(7).normal(size=(1, 2, 6, 4))
    weights = np.random.default_rng(8).normal(size=(1, 2, 4, 8))
    heads = Heads(zeros, other, other, np.zeros_like(weights), weights)

    np.testing.assert_allclose(attended(heads)["entropy"].value, 1.0, atol=1e-12)
    assert (spanned(heads)["core_rank"].value == 0).all()


def test_the_probe_measures_every_head_and_leaves_the_model_bit_for_bit(model: GPT) -> None:
    view = ModelView(model, CORPUS, step=3)  # type: ignore[arg-type]
    before = fingerprint(model)
    probe = Attention(prompt="abc" * 30, tokens=20, shown=4)
    found, _ = probe.measure(probe.start(SOURCES), view, np.random.default_rng(0))

    assert fingerprint(model) == before
    for name in ("entropy", "entropy_unscaled", "largest_score", "sink", "distance", "core_rank", "score_rank"):
        assert np.shape(found[name].value) == (2, 2), name
    assert np.shape(found["weights"].value) == (2, 2, 4, 4)
    assert np.shape(found["query_overlap"].value) == (2, 2, 2)
    assert found["random_overlap"].value == 0.5
    assert {one.status for one in found.values()} == {"ok"}
    assert all(len(one.axes) == np.ndim(one.value) for one in found.values())


def test_a_broken_model_is_nonfinite_and_stays_as_it_was(model: GPT) -> None:
    with torch.no_grad():
        model.blocks[0].attention.qkv.weight[0, 0] = math.nan
    before = fingerprint(model)
    found, _ = Attention().measure(None, ModelView(model, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]

    assert {one.status for one in found.values()} == {"nonfinite"}
    assert fingerprint(model) == before
