"""`rtfilter doctor`."""

from __future__ import annotations

import click

from rtfilter.cli.failure import EXIT_ENVIRONMENT
from rtfilter.cli.output import json_option, print_json, working


@click.command(epilog="Exit status: 0 everything is there; 3 something is missing.")
@json_option
def doctor(as_json: bool) -> None:
    """Check that everything is there that rtfilter needs: Java, Spark, the jar, the planner host.

    Each line says what was found, or what is missing and how to get it.
    """
    from rtfilter.doctor import examine

    with working("looks at Java, Spark, the jar and the planner host"):
        findings = examine()
    if as_json:
        print_json({"ok": all(finding.ok for finding in findings), "findings": [finding.to_dict() for finding in findings]})
    else:
        for finding in findings:
            mark = click.style("ok     ", fg="green") if finding.ok else click.style("missing", fg="red")
            click.echo(f"{mark} {finding.name}: {_indented(finding.detail)}")
            if finding.way_out:
                click.echo(f"        → {_indented(finding.way_out)}")
    if not all(finding.ok for finding in findings):
        raise SystemExit(EXIT_ENVIRONMENT)


def _indented(text: str) -> str:
    return text.strip().replace("\n", "\n        ")
