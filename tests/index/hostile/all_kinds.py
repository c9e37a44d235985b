"""Every kind of damaged or hostile index folder, by its name: what the modules beside this one have registered."""

from __future__ import annotations

from tests.index.hostile import data_files, large_files, logs
from tests.index.hostile.index_folder import KINDS

__all__ = ["KINDS"]
MODULES = (logs, data_files, large_files)
