"""The oldest allowed versions are read out of pyproject.toml."""

from __future__ import annotations

import pytest

from tests.with_dependencies import FOR_TESTS, for_tests, oldest, project


@pytest.mark.parametrize(
    ("requirement", "pinned"),
    [("a>=1.2,<3", "a==1.2"), ("b>=18", "b==18"), ("c==1.5.*", "c==1.5.*"), ("d~=2.1", "d==2.1")],
)
def test_the_lowest_version_that_a_requirement_allows(requirement: str, pinned: str) -> None:
    assert oldest(requirement) == pinned


@pytest.mark.parametrize("requirement", ["a", "a<3", "a>=1,>=2"])
def test_a_requirement_without_one_lower_bound_is_an_error_that_names_it(requirement: str) -> None:
    with pytest.raises(ValueError, match=f"'{requirement}' in pyproject.toml needs one lower bound"):
        oldest(requirement)


def test_every_runtime_dependency_has_a_lower_bound_and_the_tests_own_are_known() -> None:
    described = project()
    assert len([oldest(each) for each in described["dependencies"]]) == len(described["dependencies"])
    assert len(for_tests(described["optional-dependencies"])) == len(FOR_TESTS)
