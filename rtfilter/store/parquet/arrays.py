"""Names for the arrays that the store is made of."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
# Values as arrays that are compared one after the other: whole numbers are one level, byte strings one for each of their words.
Levels: TypeAlias = tuple[npt.NDArray[Any], ...]
