"""Which index or order would have paid: a log of queries and statistics of tables in, advice out. No Spark is started."""
