"""What makes and changes an index: create, refresh, optimize, delete, restore, vacuum, cancel."""
