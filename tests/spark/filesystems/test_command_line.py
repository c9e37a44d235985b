"""`rtfilter index` on a path with a scheme: it starts a Spark session of its own, with Spark's own configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.spark.cases import fact_table, write_files


def test_the_command_line_reaches_tables_through_spark(file_system_classes: Path, tmp_path: Path) -> None:
    write_files(fact_table().slice(0, 2000), tmp_path / "t", 2)
    entries = {
        "spark.hadoop.fs.cond.impl": "rtfilter.test.ConditionalFileSystem",
        "spark.driver.extraClassPath": str(file_system_classes),
        "spark.ui.enabled": "false",
    }
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in entries.items()))
    command = [sys.executable, "-c", "from rtfilter.cli import main; main()", "index", "create", f"cond:{tmp_path}/t"]
    command += ["--name", "i", "--bloom", "r", "--master", "local[1]", "--json"]
    environment = {**os.environ, "SPARK_CONF_DIR": str(tmp_path / "conf")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["state"], said["files"], said["packs"]) == ("ACTIVE", 2, 4)
    assert said["place"] == f"cond:{tmp_path}/t/_rtfilter/i" and (tmp_path / "t" / "_rtfilter" / "i" / "data").is_dir()
