"""How a question is answered: by passes, each a function of what was asked and of what the passes before it have found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Pass:
    """One step of an answer. `finds` is the name of what it returns, `words` says what that is.

    It is called with what its parameters name, and with nothing else: what was asked, or what a pass before it finds.
    """

    finds: str
    words: str
    run: Callable[..., Any]
    needs: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", tuple(inspect.signature(self.run).parameters))


def answer_by(passes: Sequence[Pass], /, **asked: Any) -> Any:
    """What the last pass finds."""
    found = asked
    for step in passes:
        found[step.finds] = step.run(**{name: found[name] for name in step.needs})
    return found[passes[-1].finds]
