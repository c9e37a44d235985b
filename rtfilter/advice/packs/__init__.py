"""What an index saves on Spark: row groups, and the items that save the most."""
