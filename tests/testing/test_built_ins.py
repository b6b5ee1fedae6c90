"""Every built-in policy, reward, constraint set and curriculum of the catalogue keeps its contract."""

import attrs
import pytest

from andrea_core import RewardTraits
from andrea_core.plugins import Catalogue
from andrea_core.testing import check_constraint_set, check_curriculum, check_policy, check_reward
from andrea_core.testing.worlds import NAMES

CHECKS = {
    "policies": check_policy,
    "rewards": check_reward,
    "constraints": check_constraint_set,
    "curricula": check_curriculum,
}
CATALOGUE = Catalogue.of()


def requires_nothing(cls):
    return all(field.default is not attrs.NOTHING for field in attrs.fields(cls))


PLAIN = [
    (kind, name)
    for kind in CHECKS
    for name, found in CATALOGUE.table[kind].items()
    if requires_nothing(found.cls) and name not in ("regmix", "mixing_law")  # these need pilots: test_planners
]


@pytest.mark.parametrize("names", [NAMES, NAMES[:1]], ids=["four", "one"])
@pytest.mark.parametrize(("kind", "name"), PLAIN, ids=str)
def test_built_ins_with_their_defaults_keep_the_contract(kind, name, names):
    CHECKS[kind](CATALOGUE.get(kind, name)(), names=names)


@attrs.frozen
class Boastful:
    needs = frozenset()
    traits = RewardTraits(range=(0.0, 0.5))

    def start(self, sources):
        return None

    def score(self, state, observation, rng):
        return observation.loss_by_source(), None


def test_a_reward_outside_its_declared_range_is_told_so():
    with pytest.raises(
        AssertionError, match=r"outside of the range .* that its traits declare; widen the range, or clip"
    ):
        check_reward(Boastful())
