"""Row groups of a table that are looked at, the sketches made of them, and what these cost."""
