"""Repetition: hand-counted formulas, periodic texts, and texts that are too short."""

import math
import random

import pytest
from hypothesis import given, strategies as st

from andrea_plugins.probes.repetition import compression, longest_loop, recent_repetition, sequence_repetition
from andrea_plugins.probes.text_health import repeated


def test_repetition_of_a_periodic_text_is_the_hand_counted_one() -> None:
    # "a b c" five times: 15 words; of 15 - n + 1 n-grams 3 are distinct.
    words = ["a", "b", "c"] * 5
    for n in range(1, 5):
        assert sequence_repetition(words, n) == pytest.approx(1 - 3 / (16 - n))
    assert recent_repetition(words, 3) == pytest.approx(12 / 14)
    assert recent_repetition(words, 2) == 0
    assert longest_loop(words) == (15, 3)


def test_distinct_words_do_not_repeat_and_short_texts_are_missing() -> None:
    words = [str(number) for number in range(40)]
    assert [sequence_repetition(words, n) for n in range(1, 5)] == [0] * 4
    assert longest_loop(words) == (0, 0)
    assert math.isnan(sequence_repetition(["a", "b"], 3))
    found = repeated("one two")
    assert (found["seq_rep_2"].status, found["seq_rep_3"].status) == ("ok", "missing")
    assert repeated("")["compression"].status == "missing"


def test_a_loop_at_the_end_is_found_with_its_period() -> None:
    text = "it began well and then the old man the old man the old man the old"
    assert longest_loop(text.split()) == (11, 3)
    assert longest_loop("a b b c".split()) == (2, 1)  # noqa: SIM905
    assert longest_loop("a b a c".split()) == (0, 0)  # noqa: SIM905


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=25))
def test_the_longest_loop_is_the_one_of_its_definition(words: list[str]) -> None:
    loops = [
        (stop - start, -period)
        for start in range(len(words))
        for stop in range(start + 2, len(words) + 1)
        for period in range(1, (stop - start) // 2 + 1)
        if all(words[k] == words[k - period] for k in range(start + period, stop))
    ]
    length, period = max(loops, default=(0, 0))
    assert longest_loop(words) == (length, -period)


def test_a_loop_compresses_and_random_bytes_do_not() -> None:
    assert compression("region " * 200) < 0.05
    assert compression(random.Random(0).randbytes(3000).hex()) > 0.5
    assert compression("region " * 200) == compression("region " * 400)
