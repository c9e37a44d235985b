"""Indexes of tables: sketches of packs on disk, kept true by a log. docs/index-format.md is the format; knows no Spark."""
