"""Star-trees: aggregates of a table's rows by some dimensions, stored so that a query reads few of them. Without Spark."""
