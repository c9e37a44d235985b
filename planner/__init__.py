"""Pure planning: a plan snapshot in, filter decisions out. Knows neither Spark nor the pack store."""
