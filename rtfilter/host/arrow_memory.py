"""Where pyarrow takes the host's memory from."""

from __future__ import annotations

import pyarrow as pa


def give_memory_back() -> None:
    """Takes the system's allocator for pyarrow in this process.

    Arrow's own keeps what was freed. A host reads an index or some footers now and then, and is to be small in between: an index
    of a million packs and four columns takes 25 MB less (tests/measure/index_verdicts.py).
    """
    pa.set_memory_pool(pa.system_memory_pool())
