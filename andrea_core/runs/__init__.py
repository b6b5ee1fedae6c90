"""Runs on disk: folders, checkpoints, the zarr record and its reader."""
