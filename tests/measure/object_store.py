"""A table in an object store with a delay: `python tests/measure/object_store.py [FILES [DELAY_MS [RUN ...]]]`: 2,000 and 30 ms.

A join asks for three keys; each is in one file. Two applications with the layer and one without run it twice, each time with other
keys. RUN names some of them: off, rtfilter. Prints seconds and packs read per query. Needs `mvn` for Hadoop's S3 client, which goes
into the cache directory.
The status is 1 where a query with the layer is over 5 % slower than without, or the second is not three times as fast.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import rtfilter
from rtfilter.bridge import jvm
from rtfilter.folders import cache_directory
from tests.measure.s3_server import BUCKET

FILE_ROWS, PACK_ROWS = 2_000, 500
SDK_VERSION = "2.35.5"
# Loaded, and not used.
ACCELERATOR_VERSION = "1.3.1"
# Of Amazon's client what hadoop-aws needs to list and read: 16 MB; its bundle has hundreds.
SDK = ("s3", "s3-transfer-manager", "sts", "apache-client")
RUNS = ("off", "rtfilter", "rtfilter, second application")


def client_jars() -> list[Path]:
    """Hadoop's S3 client for the Hadoop in PySpark, downloaded once."""
    import pyspark

    (hadoop,) = Path(pyspark.__file__).parent.glob("jars/hadoop-client-api-*.jar")
    version = hadoop.stem.removeprefix("hadoop-client-api-")
    folder = cache_directory() / "object-store-client" / f"{version}-{SDK_VERSION}"
    if not folder.is_dir():
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "pom.xml").write_text(_pom(version))
            subprocess.run(["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"], cwd=name, check=True)
    return sorted(folder.glob("*.jar"))


def _pom(hadoop: str) -> str:
    def dependency(group: str, name: str, version: str, below: str = "") -> str:
        return (
            f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>{below}</dependency>"
        )

    alone = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
    needed = [dependency("software.amazon.awssdk", each, SDK_VERSION) for each in SDK]
    needed.append(dependency("org.apache.hadoop", "hadoop-aws", hadoop, alone))
    needed.append(dependency("software.amazon.s3.analyticsaccelerator", "analyticsaccelerator-s3", ACCELERATOR_VERSION, alone))
    head = "<modelVersion>4.0.0</modelVersion><groupId>measure</groupId><artifactId>measure</artifactId><version>1</version>"
    return f"<project>{head}<dependencies>{''.join(needed)}</dependencies></project>"


def write_tables(folder: Path, files: int) -> None:
    (folder / "fact").mkdir()
    rows = np.arange(FILE_ROWS)
    for number in range(files):
        # Key 10 * n to 10 * n + 9 are in file n.
        table = pa.table({"k": number * 10 + rows * 10 // FILE_ROWS, "v": rows})
        pq.write_table(table, folder / "fact" / f"part-{number:05d}.parquet", row_group_size=PACK_ROWS)
    (folder / "dim").mkdir()
    keys = np.arange(files * 10)
    pq.write_table(pa.table({"id": keys, "name": [f"n{key}" for key in keys]}), folder / "dim" / "part-0.parquet")


def run(layer: bool, port: int, files: int, scratch: Path) -> None:
    """One application; prints a line of JSON for each of two queries."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    given = {
        "spark.jars": ",".join(map(str, client_jars())),
        "spark.hadoop.fs.s3a.endpoint": f"http://127.0.0.1:{port}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={scratch}",
        "spark.rtfilter.feedback.path": str(scratch / "feedback.json"),
        "spark.rtfilter.store.cacheDirectory": str(scratch / "cache"),
    }
    for key, value in given.items():
        builder = builder.config(key, value)
    spark = rtfilter.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set("rtfilter.enabled", layer)
    for name in ("fact", "dim"):
        spark.read.parquet(f"s3a://{BUCKET}/{name}").createOrReplaceTempView(name)
    # What every application's first query costs is no matter of the object store.
    spark.sql("select sum(dim.id) from dim join range(10) r on dim.id = r.id").collect()
    for number in (1, 2):
        keys = ", ".join(f"'n{files * each + number}'" for each in (1, 4, 8))
        frame = spark.sql(f"select count(*) as n, sum(v) as v from fact join dim on k = id where name in ({keys})")
        begun = time.perf_counter()
        ((count, _),) = frame.collect()
        seconds = time.perf_counter() - begun
        assert count == 3 * FILE_ROWS // 10, f"{count} rows"
        packs = [scan["packs_read"] for scan in jvm.scan_metrics(frame) if scan.get("narrowed")]
        print(json.dumps({"query": number, "seconds": seconds, "packs": sum(packs) if packs else "all"}), flush=True)
    spark.stop()


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        run(arguments[1] != "off", int(arguments[2]), int(arguments[3]), Path(arguments[4]))
        return 0
    files, delay_ms = int(arguments[0]) if arguments else 2_000, arguments[1] if len(arguments) > 1 else "30"
    client_jars()
    with tempfile.TemporaryDirectory(prefix="rtfilter-store-") as name:
        tables, scratch = Path(name) / "tables", Path(name) / "scratch"
        tables.mkdir()
        scratch.mkdir()
        write_tables(tables, files)
        server = [sys.executable, str(Path(__file__).with_name("s3_server.py")), str(tables), delay_ms]
        taken: dict[str, list[float]] = {}
        with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as store:
            try:
                assert store.stdout is not None
                port = store.stdout.readline().strip()
                for mode in arguments[2:] or RUNS:
                    command = [sys.executable, __file__, "--run", mode, port, str(files), str(scratch)]
                    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                    lines = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
                    taken[mode] = [line["seconds"] for line in lines]
                    for line in lines:
                        print(f"{mode}, query {line['query']}: {line['seconds']:.2f} s, {line['packs']} packs read", flush=True)
            finally:
                store.terminate()
    if "off" not in taken:
        return 0
    plain = taken.pop("off")
    slower = any(ours > 1.05 * theirs for found in taken.values() for ours, theirs in zip(found, plain, strict=True))
    return 1 if slower or any(found[1] * 3 > plain[1] for found in taken.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
