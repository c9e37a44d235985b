"""What a log of queries asks of tables: conditions as trees without literals, each kind of query once."""
