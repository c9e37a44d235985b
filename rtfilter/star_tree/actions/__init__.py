"""What can be done to a star-tree: made, brought up to its table, merged."""
