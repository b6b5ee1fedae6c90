import pytest
from hypothesis import given, strategies as st

from andrea_core import Document, hash64
from andrea_plugins.sources.registry.cleaning import clean, duplicate_key
from andrea_plugins.sources.registry.quota import choose, water_fill


@pytest.mark.parametrize(
    ("dirty", "plain"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("e\u0301", "\u00e9"),
        ("a\x00\u200b\ufeffb\tc", "ab\tc"),
        ("a  \n\n\n\nb \t\n", "a\n\nb"),
        ("write to Joe.Doe+x@mail.host.org.", "write to <email>."),
        ("user@example.com and user@examples.org", "user@example.com and user@examples.org"),
        ("not@home", "not@home"),
    ],
)
def test_cleaning_rules(dirty: str, plain: str) -> None:
    assert clean(dirty) == plain


@given(st.text())
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


def test_duplicates_differ_in_case_and_punctuation_only() -> None:
    assert duplicate_key("Hello, World") == duplicate_key("hello world!") != duplicate_key("hello word")


def test_water_filling_gives_what_a_small_entry_lacks_to_the_others() -> None:
    assert water_fill(90, [10, 100, 100], [1, 1, 1]) == [10, 40, 40]
    assert water_fill(90, [100, 100], [2, 1]) == [60, 30]
    assert water_fill(90, [10, 20], [1, 1]) == [10, 20]
    assert water_fill(90, [0, 200], [1, 1]) == [0, 90]


@given(st.integers(1, 1000), st.lists(st.tuples(st.integers(0, 500), st.floats(0.1, 5)), min_size=1, max_size=6))
def test_water_filling_spends_the_cap_or_everything_there_is(cap: int, entries: list[tuple[int, float]]) -> None:
    sizes, shares = [size for size, _ in entries], [share for _, share in entries]
    quotas = water_fill(cap, sizes, shares)
    assert sum(quotas) == pytest.approx(min(cap, sum(sizes)))
    assert all(quota <= size + 1e-9 for quota, size in zip(quotas, sizes, strict=True))


def _documents(count: int) -> list[Document]:
    return [Document("x" * 10 + str(number % 10), f"g{number // 2}") for number in range(count)]


def test_groups_come_in_hash_order_and_the_first_document_too_many_ends_the_choice() -> None:
    chosen = choose("src", _documents(20), 55)
    order = sorted({document.group for document in _documents(20)}, key=lambda g: hash64("order-v1", "src", g))
    assert [document.group for document in chosen] == [order[0], order[0], order[1], order[1], order[2]]


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_larger_quota_only_adds_documents(one: int, two: int) -> None:
    small, large = sorted((one, two))
    few = choose("src", _documents(20), small)
    assert choose("src", _documents(20), large)[: len(few)] == few
