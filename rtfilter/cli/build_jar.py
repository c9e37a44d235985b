"""`rtfilter build-jar`."""

from __future__ import annotations

from pathlib import Path

import click

from rtfilter.cli.output import json_option, print_json, working


@click.command("build-jar")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The jar file to write.")
@json_option
def build_jar(out: Path, as_json: bool) -> None:
    """Compile the part of rtfilter that runs inside Spark into a jar file.

    Not needed on an ordinary machine, where the jar is made on first use and kept in a cache. Use it for container images
    and read-only machines: there set spark.jars to the file and spark.sql.extensions to
    org.apache.spark.sql.execution.rtfilter.RtFilterExtension, and call rtfilter.attach(spark) in place of rtfilter.configure, which
    compiles a jar of its own. The jar fits the Spark version of the installed pyspark.
    """
    from rtfilter.bridge.jar import build_jar as build

    with working("compiles the bridge"):
        jar = build(out.absolute())
    if as_json:
        print_json({"jar": str(jar), "bytes": jar.stat().st_size})
    else:
        click.echo(jar)
