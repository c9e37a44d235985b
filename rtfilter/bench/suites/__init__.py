"""Which queries over which tables: what a suite is, the data it is made of, and how its tables are laid out in files."""
