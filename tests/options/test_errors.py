"""The error classes and the hint that they share."""

from __future__ import annotations

import inspect

import pytest

from rtfilter import errors
from rtfilter.errors import RtFilterError, did_you_mean

RAISED = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__]


@pytest.mark.parametrize("kind", RAISED, ids=lambda kind: kind.__name__)
def test_every_error_has_the_one_root_the_ending_and_a_docstring(kind: type[Exception]) -> None:
    assert issubclass(kind, RtFilterError)
    assert kind.__name__.endswith("Error") and kind.__doc__


def test_there_are_errors_to_check() -> None:
    assert len(RAISED) > 5


def test_the_nearest_name_is_named() -> None:
    assert did_you_mean("natral", ["natural", "clustered", "shuffled"]) == "Did you mean 'natural'?"


def test_all_names_are_listed_in_order_when_none_is_near() -> None:
    assert did_you_mean("xyz", ["natural", "clustered"]) == "Known are: clustered, natural."
