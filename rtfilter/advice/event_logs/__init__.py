"""Spark's event logs: what each SQL query of an application read, joined and returned. docs/advisor.md says what can't be known."""
