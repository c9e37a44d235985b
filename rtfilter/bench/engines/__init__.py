"""What runs a query: Spark in its modes, DuckDB, and one run's time, rows and counts."""
