"""A table as a list of files: its packs end to end, and verdicts on them."""
