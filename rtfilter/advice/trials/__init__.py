"""Sketches tried on a sample of a table's packs: which packs the queries of a log would keep if they were built."""
