"""Packs and what is known of them: statistics from Parquet footers, filters, verdicts. Knows no Spark plans."""
