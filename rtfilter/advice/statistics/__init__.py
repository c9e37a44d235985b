"""What is known of tables without Spark: the statistics file, and the program that makes it."""
