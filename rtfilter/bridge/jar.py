"""The bridge's jar: compiled from the packaged Scala sources with Spark's own compiler, once per Spark version and source text."""

from __future__ import annotations

import atexit
import hashlib
import logging
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from rtfilter.bridge.java import find_java
from rtfilter.bridge.kept_jar import keep_digest, kept_jar
from rtfilter.errors import JarBuildError, UnsupportedSparkError
from rtfilter.folders import CACHE_VARIABLE, cache_directory
from rtfilter.private_folders import own_folder_in

SOURCES = Path(__file__).parent / "scala"
LOCK_WAIT_S = 300
COMPILE_WAIT_S = 300
NO_SPACE = "No space left on device"
# Inside the cache directory.
FOLDER = "jars"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SparkInstall:
    """A Spark installation: its home folder and version, such as `4.3.0`."""

    home: Path
    version: str

    @property
    def minor_version(self) -> str:
        return ".".join(self.version.split(".")[:2])


def find_spark() -> SparkInstall:
    """The Spark that pyspark will start: SPARK_HOME, or the one inside the pyspark package.

    Raises:
        UnsupportedSparkError: the installation has no spark-core jar.
    """
    from pyspark.find_spark_home import _find_spark_home

    home = Path(_find_spark_home())
    for jar in (home / "jars").glob("spark-core_*.jar"):
        found = re.search(r"spark-core_[\d.]+-(\d+\.\d+\.\d+\S*)\.jar", jar.name)
        if found:
            return SparkInstall(home, found.group(1))
    raise UnsupportedSparkError(f"{home} has no jars/spark-core_*.jar: set SPARK_HOME to a Spark installation, or install pyspark.")


def source_files(spark: SparkInstall) -> list[Path]:
    """The Scala sources for a Spark version, from all folders below: what is common, and what only this version needs.

    Raises:
        UnsupportedSparkError: there are none for this version.
    """
    own = SOURCES / f"spark-{spark.minor_version}"
    if not own.is_dir():
        known = sorted(folder.name.removeprefix("spark-") for folder in SOURCES.glob("spark-*"))
        raise UnsupportedSparkError(f"rtfilter has no bridge for Spark {spark.version}; it has one for: {', '.join(known)}.")
    return [source for folder in (SOURCES / "common", own) for source in sorted(folder.rglob("*.scala"))]


def jar_name(spark: SparkInstall) -> str:
    """The name of a jar in the cache; it tells Spark's version and the sources' digest."""
    digest = hashlib.sha256()
    for source in source_files(spark):
        digest.update(source.relative_to(SOURCES).as_posix().encode())
        digest.update(source.read_bytes())
    return f"rtfilter-bridge-spark{spark.version}-{digest.hexdigest()[:16]}.jar"


def ensure_jar() -> Path:
    """The compiled bridge, made now (some seconds) when the cache does not have it.

    It runs inside Spark. So the cache's folder `jars` must be safe from other users, and the jar must be the one that was compiled.
    Where the folder is not safe, or can't be written, one warning says why, and this process compiles a jar of its own.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: each says what is missing.
    """
    spark = find_spark()
    name = jar_name(spark)
    try:
        folder = Path(own_folder_in(cache_directory(), FOLDER))
        return kept_jar(folder / name) or _compile_kept(spark, folder / name)
    except Timeout:
        held = cache_directory() / FOLDER / name
        raise JarBuildError(f"another process has held {held}.lock for {LOCK_WAIT_S} s; delete it if none is compiling.") from None
    except OSError as error:
        return _private_jar(spark, name, error)


def _compile_kept(spark: SparkInstall, path: Path) -> Path:
    with FileLock(f"{path}.lock", timeout=LOCK_WAIT_S):
        # Another process may have compiled it meanwhile.
        found = kept_jar(path)
        if found is None:
            if path.exists():
                _log.warning("%s is not as it was compiled: it is compiled anew.", path)
            _compile_into(spark, path)
            keep_digest(path)
        return path


# This process's own jars by name: where Spark asks twice, it must get the same path.
_private: dict[str, Path] = {}


def _private_jar(spark: SparkInstall, name: str, error: OSError) -> Path:
    if name not in _private:
        _log.warning(
            "the compiled bridge in %s is not used: %s (%s). This process compiles its own, which takes some seconds each time. "
            "Delete or mend that, or set %s to a folder that is yours alone.",
            *(cache_directory() / FOLDER, error.strerror or error, error.filename, CACHE_VARIABLE),
        )
        try:
            folder = tempfile.mkdtemp(prefix="rtfilter-own-jar-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _compile_into(spark, Path(folder) / name)
        except OSError as e:
            place = tempfile.gettempdir()
            raise JarBuildError(f"the jar can't be written to {place} ({e}); set TMPDIR to a folder that can.") from e
        _private[name] = Path(folder) / name
    return _private[name]


def build_jar(out: Path) -> Path:
    """Compiles the bridge into `out`, for images and machines whose cache can't be written.

    Raises:
        JavaNotFoundError, UnsupportedSparkError, JarBuildError: each says what is missing.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        _compile_into(find_spark(), out)
    except OSError as e:
        raise JarBuildError(f"the jar can't be written to {out} ({e}).") from e
    return out


def scala_compiler(spark: SparkInstall) -> list[str]:
    """The command of the Scala compiler that comes with a Spark; a folder for classes (`-d`) and sources are to follow.

    Raises:
        JavaNotFoundError: there is no Java to run it.
    """
    # One run is too short for the better compiler of the JVM: without it this takes a third of the time.
    quick = ["-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1"]
    jars = str(spark.home / "jars" / "*")
    return [str(find_java().launcher), *quick, "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-nowarn"]


def _compile_into(spark: SparkInstall, out: Path) -> None:
    compiler = scala_compiler(spark)
    with tempfile.TemporaryDirectory(prefix="rtfilter-jar-") as folder:
        command = [*compiler, "-d", folder, *map(str, source_files(spark))]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_WAIT_S)
        except (OSError, subprocess.TimeoutExpired) as e:
            raise JarBuildError(f"the Scala compiler of {spark.home} did not finish: {e}.") from e
        if done.returncode != 0:
            said = (done.stdout + done.stderr)[-4000:]
            if NO_SPACE in said:
                raise JarBuildError(
                    f"there is no space left in {Path(folder).parent} to compile the jar; set TMPDIR to a folder with more."
                )
            raise JarBuildError(f"the Scala compiler of {spark.home} refused the bridge's sources:\n{said}")
        _pack(Path(folder), out)


def _pack(classes: Path, out: Path) -> None:
    """Equal classes give an equal jar; a reader never sees half a jar."""
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    try:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as jar:
            for file in sorted(classes.rglob("*.class")):
                entry = zipfile.ZipInfo(str(file.relative_to(classes)).replace(os.sep, "/"), date_time=(1980, 1, 1, 0, 0, 0))
                entry.compress_type = zipfile.ZIP_DEFLATED
                jar.writestr(entry, file.read_bytes())
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)
