"""Sketches of packs: what is kept of one column of one row group, and which packs a test of values leaves.

Pure numpy and pyarrow; docs/index-format.md has every layout.
"""
