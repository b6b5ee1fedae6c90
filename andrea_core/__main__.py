"""Lets `python -m andrea_core` stand for the command `andrea`, as torchrun needs it."""

from andrea_core.cli import main

if __name__ == "__main__":
    main()
