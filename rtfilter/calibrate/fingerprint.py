"""What constants were measured on: they hold for the same processor, memory, Spark and master, and for nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass

from rtfilter.hardware import cpu_model, memory_bytes, usable_cpus


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A driver's machine (processor, cores, memory in GB) and the Spark that it drives."""

    cpu: str
    cores: int
    memory_gb: int
    spark: str
    master: str

    def to_dict(self) -> dict[str, str | int]:
        return asdict(self)

    @property
    def digest(self) -> str:
        """16 hex digits that tell one fingerprint from another."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:16]


def fingerprint_here(spark: str, master: str) -> Fingerprint:
    """This machine with a Spark version and a master; `local[*]` counts as what it stands for."""
    cores = usable_cpus()
    # local[threads, failures]: how often a task may fail has no part in times.
    local = re.fullmatch(r"local\[\s*(\*|\d+)\s*(?:,\s*\d+\s*)?\]", master)
    named = master if local is None else f"local[{cores if local.group(1) == '*' else local.group(1)}]"
    return Fingerprint(cpu_model(), cores, round(memory_bytes() / 2**30), spark, named)
