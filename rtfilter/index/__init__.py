"""Indexes as users handle them: made and refreshed by Spark jobs or in the driver's own threads."""

from rtfilter.index.api import Index
from rtfilter.index.find import indexes

__all__ = ["Index", "indexes"]
