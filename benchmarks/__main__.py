"""Runs a benchmark by name: python benchmarks NAME [its arguments]; without a name, or a wrong one, see MODULES."""

import sys
from importlib import import_module

MODULES = {
    "overhead": "overhead",
    "geometry": "geometry",
    "trainer": "trainer_speed",
    "gpu": "gpu",
    "mutants": "mutants",
    "soak": "soak",
    "noise_trap": "noise_trap",
    "regmix": "regmix",
    "bandits": "bandits",
    "curvature": "curvature",
    "curvature_figures": "curvature_figures",
}


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else "overhead"
    if name not in MODULES:
        sys.exit(f"no benchmark is called {name!r}; there are {', '.join(MODULES)}")
    sys.argv = [name, *sys.argv[2:]]
    sys.exit(import_module(MODULES[name]).main())


if __name__ == "__main__":
    main()
