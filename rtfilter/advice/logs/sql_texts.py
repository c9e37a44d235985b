"""Texts of statements, and what in one sqlglot reads otherwise than Spark does.

sqlglot's Spark dialect takes some texts for something else without a word (checked with sqlglot 30.30 beside Spark 4.3's parser).
Such a text is not understood: a column that no query asks for must not get advice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

MOST_CHARACTERS = 1 << 20
# Signs that change what is being read: comments, quotes, ends of statements, and a backslash with what it escapes.
_SIGNS = re.compile(r"--|/\*|\*/|['\"`;\n]|\\.", re.DOTALL)
_PLACE = re.compile(r"\.? Line \d+, Col: \d+\.?$")
_BITS = frozenset(("AMP", "PIPE", "CARET", "TILDE", "LR_ARROW"))
# What may stand before a named parameter; before anything else a colon begins a path into a variant.
_COMPARISONS = frozenset(("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "NULLSAFE_EQ", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE"))
_OPERATORS = frozenset(("AND", "OR", "NOT", "PLUS", "DASH", "STAR", "SLASH", "DIV", "MOD", "DPIPE"))
_BEFORE_PARAMETER = _COMPARISONS | _OPERATORS | {"L_PAREN", "COMMA", "LIMIT", "OFFSET", "SELECT", "THEN", "ELSE", "WHEN"}
_BEFORE_TABLE_NAME = frozenset(("INTO", "OVERWRITE", "CREATE", "REPLACE", "CACHE", "TEMPORARY", "EXTERNAL"))
_SCRIPT = frozenset(("BEGIN", "DECLARE"))


class NotUnderstoodError(Exception):
    """A text of which it is not certain what Spark takes it for; says why."""


@dataclass(slots=True)
class _Reading:
    """Where in a text of many statements the reading is: inside which quote, at which depth of comments."""

    quote: str = ""
    comments: int = 0
    line_comment: bool = False


def statements(lines: Iterable[str]) -> Iterator[str]:
    """The statements of a SQL file, which semicolons end, as Spark's own shell cuts them.

    Reads line by line. A statement of more than 1,048,576 characters comes cut off, so that it is not understood.
    """
    at, parts, size = _Reading(), [""], 0
    for line in lines:
        begin = 0
        for sign in _SIGNS.finditer(line):
            if _ends_statement(at, sign.group(), line, sign.end()):
                parts.append(line[begin : sign.start()])
                yield from _told(parts)
                parts, size, begin = [""], 0, sign.end()
        if size <= MOST_CHARACTERS:
            parts.append(line[begin:])
        size += len(line) - begin
    yield from _told(parts)


def _told(parts: list[str]) -> Iterator[str]:
    text = "".join(parts).strip()
    if text:
        yield text


def _ends_statement(at: _Reading, sign: str, line: str, end: int) -> bool:
    if at.line_comment:
        # Spark goes on with a comment whose line ends in a backslash.
        at.line_comment = sign != "\n" or line[end - 2 : end - 1] == "\\"
    elif at.comments:
        at.comments += {"/*": 1, "*/": -1}.get(sign, 0)
    elif at.quote:
        if sign == at.quote:
            at.quote = ""
        elif at.quote == "`" and sign == "\\`":
            at.quote = ""  # a backslash escapes nothing between backquotes
    elif sign == "--":
        at.line_comment = True
    elif sign == "/*":
        at.comments = 1
    elif sign in ("'", '"', "`"):
        at.quote = sign
    return sign == ";" and not (at.line_comment or at.comments or at.quote)


def parsed(text: str) -> Any:
    """The one statement of a text as sqlglot's tree.

    Raises:
        NotUnderstoodError: it is cut off, no single statement, or one that sqlglot takes for something else than Spark does.
    """
    if len(text) > MOST_CHARACTERS:
        raise NotUnderstoodError(f"it has more than {MOST_CHARACTERS} characters")
    # Cutting a file into statements needs no parser, which is an extra.
    import sqlglot
    from sqlglot.errors import SqlglotError, TokenError

    # Falling back to a Command is logged as a warning; here it is counted instead.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        dialect = sqlglot.Dialect.get_or_raise("spark")
        tokens = dialect.tokenize(text)
        _refuse(text, tokens)
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except TokenError as error:  # whose text quotes the statement
        raise NotUnderstoodError("it has a quote or comment without an end") from error
    except (SqlglotError, RecursionError) as error:
        said = _PLACE.sub("", (str(error) or type(error).__name__).splitlines()[0])
        raise NotUnderstoodError(f"the parser refuses it: {said}") from error
    if len(trees) != 1:
        raise NotUnderstoodError(f"it holds {len(trees)} statements")
    return trees[0]


def _refuse(text: str, tokens: list[Any]) -> None:
    kinds = [token.token_type.name for token in tokens]
    if kinds and kinds[0] in _SCRIPT:
        raise NotUnderstoodError("SQL scripts are not read")
    for token in tokens:
        if any(comment.endswith("\\") for comment in token.comments):
            raise NotUnderstoodError("a comment ends in a backslash, with which Spark goes on with it on the next line")
    for before, token in zip([None, *tokens], tokens, strict=False):
        kind, last = token.token_type.name, before.token_type.name if before else ""
        if before and _is_string(last) and _is_string(kind) and before.end + 1 == token.start:
            raise NotUnderstoodError("a quote is doubled inside a text")
        if kind in _BITS or kind == "PIPE_GT" or (last == kind and kind in ("LT", "GT") and before.end + 1 == token.start):
            raise NotUnderstoodError(f"operators on bits and pipes are grouped otherwise than in Spark: {token.text!r}")
        if kind == "COLON" and last not in _BEFORE_PARAMETER:
            raise NotUnderstoodError("a path into a variant")
        if kind == "TABLE" and last not in _BEFORE_TABLE_NAME:
            raise NotUnderstoodError("TABLE in place of a query")


def _is_string(kind: str) -> bool:
    return kind.endswith("STRING")
