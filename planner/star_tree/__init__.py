"""Which aggregates of a query a star-tree can answer, and with what in place of each. Knows no Spark and no files."""
