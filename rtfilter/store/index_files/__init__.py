"""An index on disk: its log, its snapshots, and the files with its sketches. docs/index-format.md is the format; knows no Spark."""
