"""Bandits in two worlds, as tables: python benchmarks bandits [--seeds N]: rewards that jump, and pure noise."""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "planted"))

from bandit_worlds import DEFAULTS, JUMPING, PUBLISHED, over_seeds, regret, share_of_noise

from andrea_plugins.rewards import Improvement

REWARDS = {
    "improvement": Improvement(),
    "alpha .1": Improvement(alpha=0.1),
    "ANDREA's form": Improvement(form="andrea"),
}


def main() -> None:
    """Print both tables: mean (standard error)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    seeds = parser.parse_args().seeds
    print("| policy | regret | published |\n| --- | --- | --- |")
    for name in JUMPING:
        mean, error = over_seeds(regret, name, seeds=seeds)
        print(f"| {name} | {mean:.0f} ({error:.0f}) | {PUBLISHED.get(name, ('', ''))[0]} |", flush=True)
    print("\n| policy |", " | ".join(REWARDS), "|\n| --- |" + " --- |" * len(REWARDS))
    for name, policy in DEFAULTS.items():
        shares = (over_seeds(share_of_noise, policy, reward, seeds=seeds // 2) for reward in REWARDS.values())
        print(f"| {name} |", " | ".join(f"{mean:.3f} ({error:.3f})" for mean, error in shares), "|", flush=True)


if __name__ == "__main__":
    main()
