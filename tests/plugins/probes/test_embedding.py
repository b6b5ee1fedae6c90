"""Embedding: planted neighbours, known alignments, and a model that is left alone."""

import math

import numpy as np
import pytest
import torch
from probed_models import CORPUS, SOURCES, fingerprint, small_model

from andrea_core.model.view import ModelView
from andrea_plugins.probes.embedding import Embedding, alignment, neighbours


def test_alignment_is_the_mean_cosine_of_pairs() -> None:
    vectors = np.random.default_rng(0).normal(size=(30, 5)) + 1
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = (units @ units.T)[~np.eye(30, dtype=bool)]

    assert alignment(vectors) == pytest.approx(cosines.mean())
    assert alignment(np.vstack([vectors, np.zeros(5)])) == pytest.approx(cosines.mean())
    assert alignment(np.eye(7)) == pytest.approx(0)
    assert alignment(np.outer([1, 2, 3], np.ones(4))) == pytest.approx(1)
    assert math.isnan(alignment(np.ones((1, 3))))


def test_planted_neighbours_are_found_in_order() -> None:
    angles = np.array([0.0, 0.3, -0.1, 2.0, 0.2])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)]) * np.array([1, 9, 2, 5, 3])[:, None]
    tokens, cosines = neighbours(vectors, np.array([0]), 3)

    assert tokens == [2, 4, 1]
    np.testing.assert_allclose(cosines, np.cos([0.1, 0.2, 0.3]))
    assert neighbours(vectors, np.array([], int), 3)[0] == []
    assert len(neighbours(vectors, np.array([0, 1]), 99)[0]) == 3


def test_the_probe_names_planted_neighbours_and_leaves_the_model_bit_for_bit() -> None:
    model = small_model()
    with torch.no_grad():
        model.tokens.weight[3] = 2 * model.tokens.weight[0]
    before = fingerprint(model)
    probe = Embedding(words=("a", "bc", "?"), nearest=2)
    found, _ = probe.measure(probe.start(SOURCES), ModelView(model, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]

    assert fingerprint(model) == before
    assert str(found["neighbours"].value).startswith("a: 'd' 1.000, ")
    assert np.shape(found["cosines"].value) == (3, 2)
    assert found["cosines"].status == "missing"  # "?" has no token
    weights = model.tokens.weight.detach().numpy()[:11]
    assert found["norm_largest"].value == pytest.approx(np.linalg.norm(weights, axis=1).max())


def test_a_broken_embedding_is_nonfinite() -> None:
    model = small_model()
    with torch.no_grad():
        model.tokens.weight[0, 0] = math.nan
    found, _ = Embedding().measure(None, ModelView(model, CORPUS, 0), np.random.default_rng(0))  # type: ignore[arg-type]
    assert {one.status for one in found.values()} == {"nonfinite"}
