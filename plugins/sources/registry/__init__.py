"""The `registry` source: text from pinned package archives, read as a recipe says."""
