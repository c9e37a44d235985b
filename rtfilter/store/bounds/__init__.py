"""Which packs may hold a value that a filter lets through, by their bounds."""
