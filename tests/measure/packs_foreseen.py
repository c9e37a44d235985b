"""How well a sample of packs foresees what a built index keeps, over three layouts and five kinds of sketches. No test.

python tests/measure/packs_foreseen.py [packs] [rows a pack] [sampled packs] [queries of a cell]
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from rtfilter.advice.sampled.table_packs import SAMPLE_PACKS
from tests.advice.foreseen import KINDS, LAYOUTS, Case, cases


def main(packs: int = 1_000, pack_rows: int = 500, sampled: int = SAMPLE_PACKS, queries: int = 40) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = list(cases(Path(folder), packs, pack_rows, sampled, queries))
    between = [case for case in found if case.is_between]
    print(f"{packs} packs of {pack_rows} rows, {sampled} looked at; 1 to 90 % kept in {len(between)} of {len(found)} cases")
    for layout in LAYOUTS:
        for kind in KINDS:
            told(layout, kind.__name__, [case for case in found if (case.layout, case.kind) == (layout, kind.__name__)])
    right = sum(case.is_right for case in between)
    print(f"right: {right} of {len(between)}, {right / max(1, len(between)):.1%}")


def told(layout: str, kind: str, mine: list[Case]) -> None:
    between = [case for case in mine if case.is_between]
    ends = Counter("none" if case.kept < 0.01 * case.packs else "all" for case in mine if not case.is_between)
    right = sum(case.is_right for case in between)
    share = f"{right / len(between):6.1%}" if between else "     -"
    print(f"{layout:9} {kind:9} {len(between):4} cases, right {share}; about none kept {ends['none']:3}, about all {ends['all']:3}")
    for case in [case for case in between if not case.is_right][:2]:
        print(f"          {case.query}: foreseen {case.foreseen:.1f}, kept {case.kept}")


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:]))
