"""What a query itself asks of a scan whose table has an index."""
