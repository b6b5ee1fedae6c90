"""How far a text is from degenerate repetition: four parts that add up to 100."""

import re
from collections.abc import Sequence

import attrs

from andrea_plugins.probes.english import COMMON_WORDS

_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
CHARACTERS_A_WORD = 8  # half as dense as words stand in English, so that ordinary text is never short of words
ENGLISH_SHARE = 0.2  # English prose has about 0.3 of its letters in common words
DISTINCT_CHARACTERS = 20  # a few hundred characters of English have more


@attrs.frozen
class Coherence:
    """The parts of the score: 0-35 for distinct word pairs, 0-35 for triples, 0-20 for English, 0-10 for characters."""

    bigrams: float
    trigrams: float
    english: float
    characters: float

    @property
    def score(self) -> float:
        """The sum, 0 to 100."""
        return self.bigrams + self.trigrams + self.english + self.characters


def coherence(text: str) -> Coherence:
    """Return the score of a text.

    The ranges are those of ANDREA's coherence gate; the formulas within them are this project's choice. A word is a run
    of at least three letters, or a shorter common English word. With W the greater of the number of words and an eighth
    of the characters:

    - bigrams and trigrams: 35 times the number of distinct runs of 2 (3) words over the number of such runs in W words,
      so that both repeated words and a want of words cost points;
    - English: 20 times the share of all letters and signs (spaces apart) that stands in common English words of at
      least two letters, over 0.2, at most 20: a share of the text, so that strays in random bytes hardly count;
    - characters: 10 times the number of distinct characters (spaces apart, case ignored) over 20, at most 10.
    """
    runs = _LETTERS.findall(text.casefold())
    words = [run for run in runs if len(run) > 2 or run in COMMON_WORDS]
    solid = "".join(text.casefold().split())
    expected = max(len(words), len(text) // CHARACTERS_A_WORD)
    common = sum(len(word) for word in words if len(word) > 1 and word in COMMON_WORDS)
    share = common / max(1, len(solid))
    return Coherence(
        bigrams=35 * _distinct(words, 2, expected),
        trigrams=35 * _distinct(words, 3, expected),
        english=20 * min(1.0, share / ENGLISH_SHARE),
        characters=10 * min(1.0, len(set(solid)) / DISTINCT_CHARACTERS),
    )


def _distinct(words: Sequence[str], n: int, expected: int) -> float:
    runs = {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}
    return len(runs) / max(1, expected - n + 1)
