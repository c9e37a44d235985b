"""The files of Spark's event logs, as events: which files, how they are unpacked, and what is passed over."""
