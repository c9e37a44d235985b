"""Indexes that are open: how they are opened within bounds of time and memory, and what is judged by them."""
