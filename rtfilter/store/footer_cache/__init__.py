"""Footers that were read: held in memory, and kept between applications."""
