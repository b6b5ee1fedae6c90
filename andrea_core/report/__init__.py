"""Reads a finished or interrupted run and shows it: figures, one self-contained page, and a summary table."""
