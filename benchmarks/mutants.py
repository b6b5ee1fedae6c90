"""The mutation matrix: plants every known bug and says which property check sees it: python benchmarks mutants [--all].

First the sound code has to pass every check. Then each bug is planted, and the check that is meant for it must fail;
with --all every check is tried on every bug. The exit code is 1 if a bug survives.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "planted"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("--examples", type=int, default=300, help="generated examples a property (default 300)")
    parser.add_argument("--all", action="store_true", help="try every check on every bug")
    arguments = parser.parse_args()
    os.environ["ANDREA_MUTATION_EXAMPLES"] = str(arguments.examples)
    import planted_bugs
    import planted_checks

    for check in planted_bugs.CHECKS:
        check()
    seen = planted_checks.SEEN.copy()
    print(f"the sound code passes {len(planted_bugs.CHECKS)} properties on {seen.total():,} generated cases")
    survivors = []
    for name in planted_bugs.BUGS:
        killers = _killers(planted_bugs, name, arguments.all)
        print(f"  {name:<44} {', '.join(killers) if killers else 'SURVIVES'}", flush=True)
        if not killers:
            survivors.append(name)
    tried = planted_checks.SEEN.total() - seen.total()
    killed = len(planted_bugs.BUGS) - len(survivors)
    print(f"properties {len(planted_bugs.CHECKS)}, generated cases {seen.total() + tried:,}, bugs planted "
          f"{len(planted_bugs.BUGS)}, killed {killed}, survived {len(survivors)}")  # fmt: skip
    return 1 if survivors else 0


def _killers(bugs: object, name: str, every: bool) -> list[str]:
    """Return the names of the checks that see a bug, the one meant for it first."""
    with bugs.planted(name) as meant:
        checks = [meant, *(check for check in bugs.CHECKS if check is not meant)] if every else [meant]
        return [check.__name__ for check in checks if not _passes(bugs, check)]


def _passes(bugs: object, check: object) -> bool:
    try:
        check()
    except Exception:  # most bugs fail an assertion; some make the code stumble, which is seen as well
        return False
    return True


if __name__ == "__main__":
    raise SystemExit(main())
