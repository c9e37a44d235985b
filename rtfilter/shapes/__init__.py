"""What a query that has ended asked of its tables, read out of its plans for the query log."""
