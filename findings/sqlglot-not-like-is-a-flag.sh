#!/usr/bin/env bash
# sqlglot (Spark dialect) has two trees for a negated condition. NOT IN, NOT BETWEEN, NOT RLIKE and IS NOT NULL are a Not around the
# condition. NOT LIKE and NOT ILIKE are the same Like and ILike nodes as without NOT, with the argument negate=True. A reader that goes
# by the kinds of nodes, as find_all(exp.Like) does, takes `a NOT LIKE 'x%'` for its opposite. `NOT a LIKE 'x%'` is a Not again,
# so two texts of one meaning have different trees. Seen with sqlglot 30.30.0; 26.0.0 has a Not in all of them. Exits non-zero if
# that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
seen() { # version, and the package pinned to it
    python3 -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet --disable-pip-version-check "$2"
    "$folder/$1/bin/python" -c "
import sqlglot
for text in ('a NOT LIKE \'x%\'', 'NOT a LIKE \'x%\'', 'a NOT ILIKE \'x%\'', 'a NOT RLIKE \'x\'', 'a NOT IN (1)', 'a NOT BETWEEN 1 AND 2', 'a IS NOT NULL'):
    tree = sqlglot.parse_one('SELECT * FROM t WHERE ' + text, dialect='spark').args['where'].this
    flag = ' negate=True' if tree.args.get('negate') else ''
    print(f'{text}: {type(tree).__name__}{flag}')"
}
seen 30.30.0 sqlglot==30.30.0 > "$folder/seen-30.30.0"
seen 26.0.0 sqlglot==26.0.0 > "$folder/seen-26.0.0"
for version in 30.30.0 26.0.0; do
    echo "sqlglot $version"
    cat "$folder/seen-$version"
done
diff "$folder/seen-30.30.0" - <<'END'
a NOT LIKE 'x%': Like negate=True
NOT a LIKE 'x%': Not
a NOT ILIKE 'x%': ILike negate=True
a NOT RLIKE 'x': Not
a NOT IN (1): Not
a NOT BETWEEN 1 AND 2: Not
a IS NOT NULL: Not
END
[ "$(grep -c ': Not$' "$folder/seen-26.0.0")" = 7 ]
