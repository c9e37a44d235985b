"""The option table: what it reads, what it refuses, and with which words."""

from __future__ import annotations

import dataclasses

import pytest

from rtfilter.errors import OptionError
from rtfilter.option_texts import KINDS
from rtfilter.options import BY_KEY, OPTIONS, PREFIX, Options, as_conf_text, defaults, keyword_entries, parse_option

GOOD_VALUES = [
    ("rtfilter.enabled", "true", True),
    ("rtfilter.enabled", " False ", False),
    ("rtfilter.kinds", "set", ("set",)),
    ("rtfilter.kinds", "range, SET,", ("range", "set")),
    ("rtfilter.cost", "Always", "always"),
    ("rtfilter.set.maxKeys", "0", 0),
    ("rtfilter.bloom.fpp", "0.5", 0.5),
    ("rtfilter.planner.timeoutMs", "1", 1),
    ("rtfilter.store.location", "s3a://bucket/indexes", "s3a://bucket/indexes"),
    ("rtfilter.log.path", "", ""),
    ("rtfilter.packs.enabled", "false", False),
    ("rtfilter.log.maxBytes", "1000", 1000),
    ("rtfilter.feedback.enabled", "false", False),
    ("rtfilter.feedback.path", "/data/feedback.json", "/data/feedback.json"),
]
BAD_VALUES = [
    ("rtfilter.enabled", "yes", "true or false"),
    ("rtfilter.enabled", "", "true or false"),
    ("rtfilter.kinds", "range,cuckoo", "a list out of range, set, bloom"),
    ("rtfilter.kinds", "", "a list out of range, set, bloom"),
    ("rtfilter.cost", "sometimes", "one of auto, always, never"),
    ("rtfilter.set.maxKeys", "many", "a whole number, at least 0"),
    ("rtfilter.set.maxKeys", "1.5", "a whole number, at least 0"),
    ("rtfilter.set.maxKeys", "-1", "a whole number, at least 0"),
    ("rtfilter.planner.timeoutMs", "0", "a whole number, at least 1"),
    ("rtfilter.bloom.fpp", "1.0", "a number above 0 and below 1"),
    ("rtfilter.bloom.fpp", "nan", "a number above 0 and below 1"),
    ("rtfilter.bloom.maxBytes", "31", "a whole number, at least 32"),
]


@pytest.mark.parametrize(("key", "text", "value"), GOOD_VALUES)
def test_a_value_that_fits_is_read(key: str, text: str, value: object) -> None:
    assert parse_option(key, text) == value


@pytest.mark.parametrize(("key", "text", "wanted"), BAD_VALUES)
def test_a_wrong_value_is_refused_with_the_key_the_value_what_it_must_be_and_the_default(key: str, text: str, wanted: str) -> None:
    with pytest.raises(OptionError) as refused:
        parse_option(key, text)
    assert all(part in str(refused.value) for part in (key, repr(text), wanted, BY_KEY[key].default_text))


@pytest.mark.parametrize(
    ("unknown", "nearest"),
    [
        ("rtfilter.enabeld", "rtfilter.enabled"),
        ("rtfilter.kind", "rtfilter.kinds"),
        ("rtfilter.set.maxkeys", "rtfilter.set.maxKeys"),
        ("rtfilter.planner.timeout", "rtfilter.planner.timeoutMs"),
    ],
)
def test_an_unknown_option_names_the_nearest(unknown: str, nearest: str) -> None:
    with pytest.raises(OptionError, match=f"unknown option '{unknown}'. Did you mean '{nearest}'"):
        parse_option(unknown, "true")


def test_an_unknown_option_that_is_near_to_none_names_them_all() -> None:
    with pytest.raises(OptionError) as refused:
        parse_option("zzz", "1")
    assert all(key in str(refused.value) for key in BY_KEY)


# What the texts of lists are read as.
LISTS = {"rtfilter.kinds": KINDS, "rtfilter.store.schemes": ()}


def test_defaults_read_back_as_the_declared_values() -> None:
    assert set(defaults()) == set(BY_KEY)
    for option in OPTIONS:
        value = parse_option(option.key, defaults()[option.key])
        assert value == LISTS.get(option.key, option.default)


def test_an_empty_conf_gives_the_defaults_and_the_defaults_give_the_same() -> None:
    assert Options.from_conf({}) == Options.from_conf(defaults())
    assert Options.from_conf({}).enabled is False and Options.from_conf({}).footers_cache_bytes == 256 << 20


def test_options_take_what_the_conf_has_and_pass_over_other_entries() -> None:
    conf = {"rtfilter.enabled": "true", "rtfilter.set.maxKeys": "7", "spark.sql.adaptive.enabled": "rubbish"}
    assert Options.from_conf(conf) == dataclasses.replace(Options.from_conf({}), enabled=True, set_max_keys=7)


def test_the_fields_of_options_stand_in_the_order_of_the_table() -> None:
    # Options.from_conf fills them by position.
    for option, field in zip(OPTIONS, dataclasses.fields(Options), strict=True):
        assert field.name.replace("_", "") == option.key.removeprefix(PREFIX).replace(".", "").lower()


@pytest.mark.parametrize("conf", [{"rtfilter.enabeld": "true"}, {"rtfilter.cost": "sometimes"}])
def test_a_conf_with_a_bad_entry_is_refused(conf: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        Options.from_conf(conf)


def test_keywords_become_conf_entries() -> None:
    given = keyword_entries({"kinds": "range,set", "cost": "always", "verify": True, "planner_timeoutMs": 500, "bloom_fpp": 0.05})
    assert given == {
        "rtfilter.kinds": "range,set",
        "rtfilter.cost": "always",
        "rtfilter.verify": "true",
        "rtfilter.planner.timeoutMs": "500",
        "rtfilter.bloom.fpp": "0.05",
    }


@pytest.mark.parametrize("keywords", [{"kindz": "set"}, {"kinds": 3}, {"verify": 1}, {"set_maxKeys": None}, {"bloom_fpp": "low"}])
def test_wrong_keywords_are_refused(keywords: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        keyword_entries(keywords)


def test_conf_text_of_python_values() -> None:
    assert [as_conf_text(value) for value in (True, False, 7, 0.01, "set")] == ["true", "false", "7", "0.01", "set"]


def test_the_table_documents_every_option() -> None:
    assert len(BY_KEY) == len(OPTIONS)
    for option in OPTIONS:
        assert option.key.startswith(PREFIX) and option.type and option.doc.endswith(".")
