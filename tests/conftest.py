"""What all tests share: the switch that `make golden` sets, and where hypothesis takes its cases from."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Where CI says that it is CI, the same cases each time: what is red there is red here. Elsewhere new ones each time.
settings.register_profile("ci", derandomize=True, deadline=None)
# A machine that does other things beside takes its time.
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew instead of only comparing with them")
