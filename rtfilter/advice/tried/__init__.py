"""What to build, drop or sort by, from sketches that were tried on a sample of packs."""
