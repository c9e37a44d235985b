"""Indexes and tables on filesystems that Python can't open: single steps that somebody else does, and copies on this machine."""
