"""What RTFILTER hints come to, and what the planner makes of them."""

from __future__ import annotations

import pytest

from planner.inputs.table_hints import Directive, TableHint, directive_of, hint_warnings, stored_of, stored_warnings


def hint(
    *words: str, names: tuple[str, ...] = ("spark_catalog.default.fact", "f"), known: tuple[str, ...] = ("d", "f")
) -> TableHint:
    return TableHint(words, names, known)


class TestDirectives:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("never",), Directive("never")),
            (("ALWAYS",), Directive("always")),
            (("range", "Set"), Directive(None, ("range", "set"))),
            (("kinds(bloom,set)",), Directive(None, ("set", "bloom"))),
            (("always", "bloom"), Directive("always", ("bloom",))),
            (("never", "f"), Directive("never")),
            (("never", "fact"), Directive("never")),
            (("never", "default.fact"), Directive("never")),
            (("never", "`F`"), Directive("never")),
            (("never", "inventory"), Directive("never")),
            (("never", "always"), Directive("always")),
            (("never", "ct"), Directive()),
            (("never", "other.fact"), Directive()),
            (("nevr",), Directive()),
            ((), Directive()),
        ],
    )
    def test_words(self, words: tuple[str, ...], expected: Directive) -> None:
        assert directive_of([hint(*words)], "inventory") == expected

    def test_a_hint_for_the_table_counts_more_than_one_for_all_wherever_they_stand(self) -> None:
        everything, own = hint("never"), hint("always", "f")
        assert directive_of([everything, own], "t").cost == directive_of([own, everything], "t").cost == "always"

    def test_an_inner_hint_counts_more_than_an_outer_one_and_each_word_for_itself(self) -> None:
        inner, outer = hint("always"), hint("never", "range")
        assert directive_of([inner, outer], "t") == Directive("always", ("range",))

    def test_a_misspelt_table_does_not_spread_the_hint_over_all_tables(self) -> None:
        assert directive_of([hint("never", "fcat")], "t") == Directive()


class TestWarnings:
    def test_an_unknown_word_is_named_once_with_the_nearest_known_one(self) -> None:
        hints = [hint("nevr", names=("f",)), hint("nevr", names=("d",))]
        (sentence,) = hint_warnings(hints, ["inventory"])
        assert "RTFILTER(nevr)" in sentence and "'nevr'" in sentence and "Did you mean 'never'?" in sentence

    def test_a_table_elsewhere_in_the_query_and_the_label_of_a_scan_are_known(self) -> None:
        assert hint_warnings([hint("never", "d", "inventory", "fact")], ["inventory", "fact"]) == ()

    def test_a_hint_without_words_is_told_what_it_takes(self) -> None:
        (sentence,) = hint_warnings([hint()], [])
        assert "always, never, range, set, bloom" in sentence


class TestStored:
    @pytest.mark.parametrize(
        ("words", "name", "skipped"),
        [
            (("use(cube)",), "cube", False),
            (("use(cube)",), "other", True),
            (("USE(Cube)",), "cube", False),
            (("skip(cube)",), "cube", True),
            (("skip(cube)",), "other", False),
            (("skip()",), "other", True),
            (("use(cube,other)", "skip(cube)"), "cube", True),
            (("always",), "cube", False),
        ],
    )
    def test_what_is_used(self, words: tuple[str, ...], name: str, skipped: bool) -> None:
        assert stored_of([hint(*words)]).skips(name) is skipped

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (("use(cube)", "skip(idx)", "skip(rows.a_b)", "skip()"), ""),
            (("use(cub)",), "The hint RTFILTER(use(cub)) names 'cub', which is no star-tree and no index of sales, "
             "so nothing else of it is used. Did you mean 'Cube'?"),
            (("skip(zzz)",), "The hint RTFILTER(skip(zzz)) names 'zzz', which is no star-tree and no index of sales, "
             "so nothing changes for it."),
        ],
    )  # fmt: skip
    def test_a_name_of_nothing_is_told(self, words: tuple[str, ...], sentence: str) -> None:
        told = stored_warnings([hint(*words), hint(*words)], "sales", ["Cube", "idx", "rows"])
        assert told == ((sentence,) if sentence else ())

    def test_where_another_table_may_have_it_only_near_names_are_told(self) -> None:
        hints = [hint("use(cub)", "skip(zzz)")]
        (told,) = stored_warnings(hints, "sales", ["cube"], only_near=True)
        assert "'cub'" in told
