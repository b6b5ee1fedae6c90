"""Group bounds that leave no weights: the clash is real, minimal, and the repair that is named mends it."""

import pytest
from hypothesis import given

from andrea_core.errors import InfeasibleRegion
from andrea_core.simplex import Group, Region
from andrea_core.testing.grouped import infeasible_groups


def clash(names, floors=None, caps=None, groups=()):
    with pytest.raises(InfeasibleRegion) as caught:
        Region.of(names, floors, caps, groups=groups)
    return caught.value


def rebuilt(names, bounds):
    """The region of a set of bounds as the error lists them; raises InfeasibleRegion."""
    region = Region.of(names)
    for bound in bounds:
        sources = tuple(bound.source.split(" + "))
        if bound.kind == "group floor":
            region = region.restrict(groups=(Group(sources, at_least=bound.value),))
        elif bound.kind == "group cap":
            region = region.restrict(groups=(Group(sources, at_most=bound.value),))
        elif bound.kind == "floor":
            region = region.restrict(floors={bound.source: bound.value})
        else:
            region = region.restrict(caps={bound.source: bound.value})
    return region


@given(infeasible_groups())
def test_the_clash_is_infeasible_alone_and_feasible_without_any_member(case):
    names, floors, caps, groups = case
    error = clash(names, floors, caps, groups)

    with pytest.raises(InfeasibleRegion):
        rebuilt(names, error.clash)
    for dropped in error.clash:
        if dropped.kind != "cap" or dropped.value < 1.0:
            rebuilt(names, [bound for bound in error.clash if bound is not dropped])
    assert error.excess > 0
    assert error.repair in str(error)


CASES = {
    "floors of groups": ({}, {}, [("ab", 0.7, 1.0), ("cd", 0.6, 1.0)], {"a + b", "c + d"}, 0.3),
    "a group's floor and a source's": ({"c": 0.5}, {}, [("ab", 0.6, 1.0)], {"a + b", "c"}, 0.1),
    "caps of groups": ({}, {}, [("ab", 0.0, 0.3), ("cd", 0.0, 0.2)], {"a + b", "c + d"}, 0.5),
    "a group's cap and sources'": ({}, {"c": 0.2, "d": 0.1}, [("ab", 0.0, 0.3)], {"a + b", "c", "d"}, 0.4),
    "caps inside a group": ({}, {"a": 0.2, "b": 0.3}, [("ab", 0.7, 1.0)], {"a + b", "a", "b"}, 0.2),
    "floors inside a group": ({"a": 0.3, "b": 0.2, "c": 0.1}, {}, [("abc", 0.0, 0.4)], {"a + b + c", "a", "b"}, 0.2),
    "crossed": ({}, {}, [("ab", 0.5, 1.0), ("ab", 0.0, 0.3)], {"a + b"}, 0.2),
}


@pytest.mark.parametrize("name", CASES)
def test_the_smallest_clash_and_its_amount_are_told(name):
    floors, caps, groups, sources, amount = CASES[name]
    error = clash("abcd", floors, caps, [Group(tuple(one), low, high) for one, low, high in groups])

    assert {bound.source for bound in error.clash} == sources
    assert error.excess == pytest.approx(amount)


def test_the_repair_that_is_named_mends_it():
    error = clash("abcd", {"c": 0.5}, {}, [Group(("a", "b"), at_least=0.6)])
    assert error.repair == "lower floors by 0.1 in total, for example a + b from 0.6 to 0.5"
    assert Region.of("abcd", {"c": 0.5}, groups=(Group(("a", "b"), at_least=0.5),)).contains([0.5, 0.0, 0.5, 0.0])


def test_no_example_is_named_where_none_would_do():
    error = clash("abcd", {"a": 0.3, "b": 0.25, "c": 0.5}, {}, [Group(("a", "b"), at_least=0.56)])
    assert "for example c from 0.5 to 0.44" in error.repair
    error = clash("abc", {"a": 0.3, "b": 0.3}, {}, [Group(("a", "b"), at_least=0.65), Group(("c",), at_least=0.7)])
    assert error.repair == "lower floors by 0.35 in total, for example c from 0.7 to 0.35"


def test_decimals_that_sum_to_one_leave_weights():
    thirds = [Group((name,), at_least=value) for name, value in zip("abc", (0.7, 0.2, 0.1), strict=True)]
    assert Region.of("abc", groups=thirds).is_point
    region = Region.of("abcd", groups=(Group(("a", "b"), at_least=0.7), Group(("c", "d"), at_least=0.3)))
    assert region.dimension == 2
    assert region.check(region.project([1.0, 0.0, 0.0, 0.0])) == []


def test_reasons_of_both_bounds_are_told():
    region = Region.of("abc", groups=(Group(("a", "b"), at_least=0.6),), reason="mostly chat")
    with pytest.raises(
        InfeasibleRegion, match=r"group floor 0.6 of a \+ b \(mostly chat\) and floor 0.5 of c \(polish\)"
    ):
        region.restrict(floors={"c": 0.5}, reason="polish")
