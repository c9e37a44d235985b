"""Indexes as a user handles them from a Spark session: it has jobs or its own threads do what `rtfilter.store` knows how to do."""

from rtfilter.index.api import Index
from rtfilter.index.find import indexes

__all__ = ["Index", "indexes"]
