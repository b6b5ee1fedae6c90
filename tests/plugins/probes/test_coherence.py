"""The coherence score: what is broken scores low, what is English scores high, each part by its formula."""

import random

import pytest
from hypothesis import given, strategies as st

from andrea_plugins.probes.coherence import coherence
from andrea_plugins.probes.english import COMMON_WORDS

ENGLISH = (
    "The harbour was quiet when we came down to the water, and only a few of the boats had their lamps lit. My brother "
    "said that it would rain before the morning, because the wind had turned to the west and the gulls were sitting on "
    "the roofs. We walked along the wall to the place where the old man used to sell fish, but nobody was there and "
    "the door was shut. So we sat on the steps and waited, and after a while we heard the church bell."
)
CHAT = (
    "User: Can you help me bake bread?\nAssistant: Yes, of course! First, mix the flour with water and a little salt."
)


def noise(seed: int) -> str:
    return random.Random(seed).randbytes(420).decode("utf-8", "replace")


@pytest.mark.parametrize(
    "text",
    [
        "region " * 60,
        "'" * 420,
        "' '' ' ''' " * 40,
        "games, " * 60,
        "Budy" * 105,
        "Budy " * 84,
        "the " * 105,
        "the cat " * 52,
        "he said that he was not " * 18,
        " " * 420,
        "\ufffd" * 420,
        "1 2 3 4 5 6 7 8 9 " * 24,
        "",
    ],
)
def test_the_breakages_of_v1_and_their_kin_score_below_the_floor(text: str) -> None:
    assert coherence(text).score < 30


@pytest.mark.parametrize("text", [ENGLISH, CHAT, ENGLISH.upper(), ENGLISH[:100]])
def test_ordinary_english_scores_well_above_the_floor(text: str) -> None:
    assert coherence(text).score > 60


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes_are_neither_english_nor_coherent(seed: int) -> None:
    parts = coherence(noise(seed))

    assert parts.english < 1
    assert parts.score < 40


def test_english_beats_every_kind_of_noise_by_far() -> None:
    assert coherence(ENGLISH).score > 2 * max(coherence(noise(seed)).score for seed in range(20))


def test_parts_follow_their_formulas() -> None:
    # Eight words; of seven pairs "cat sat" comes twice, all six triples are distinct; no more words are due.
    parts = coherence("cat sat dog cat sat hen fox elk.")

    assert parts.bigrams == pytest.approx(35 * 6 / 7)
    assert parts.trigrams == pytest.approx(35)
    assert parts.english == 0
    assert parts.characters == pytest.approx(10 * len(set("catsdoghenfxlk.")) / 20)


def test_the_english_part_is_the_share_of_characters_over_a_fifth() -> None:
    assert coherence("the " + "q" * 47).english == pytest.approx(20 * (3 / 50) / 0.2)


def test_a_text_without_its_due_of_words_loses_points() -> None:
    assert coherence("hen fox elk" + "#" * 149).bigrams == pytest.approx(35 * 2 / (160 // 8 - 1))


def test_one_repeated_word_among_english_costs_in_proportion() -> None:
    half = ENGLISH + " region" * (len(ENGLISH) // 7)

    assert coherence("region " * 60).score < coherence(half).score < coherence(ENGLISH).score


@given(st.text())
def test_every_text_scores_within_the_ranges(text: str) -> None:
    parts = coherence(text)

    assert 0 <= parts.bigrams <= 35
    assert 0 <= parts.trigrams <= 35
    assert 0 <= parts.english <= 20
    assert 0 <= parts.characters <= 10


def test_common_words_are_lower_case_words() -> None:
    assert len(COMMON_WORDS) > 150
    assert all(word.isalpha() and word == word.lower() for word in COMMON_WORDS)
