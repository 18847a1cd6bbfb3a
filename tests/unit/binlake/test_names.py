"""`import binlake`: quick, without Spark or pyarrow, and its names are listed."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path
from rlcompleter import Completer

import pytest

import binlake

ROOT = Path(__file__).parents[3]
LIGHT = """
import sys, time
before = set(sys.modules)
began = time.process_time()
import binlake
took = time.process_time() - began
dir(binlake)
print(took, *(set(sys.modules) - before))
"""


def python(program: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_import_takes_no_time_and_loads_nothing() -> None:
    runs = [python(LIGHT).split() for _ in range(3)]
    assert min(float(took) for took, *_ in runs) < 0.05
    loaded = {name.split(".")[0] for _, *names in runs for name in names}
    assert not loaded & {"pyspark", "pyarrow", "pandas", "numpy", "decoder", "pipeline", "pydantic"}


def test_every_name_is_listed_and_there() -> None:
    assert dir(binlake) == sorted(binlake.__all__)
    assert {"run", "read", "status", "decode", "check", "verify"} < {*dir(binlake)}
    for name in binlake.__all__:
        found = getattr(binlake, name)
        assert name == "__version__" or found.__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(binlake, "nothing")  # noqa: B009 - mypy knows that it is not there


def test_a_shell_completes_the_names() -> None:
    shell = Completer({"binlake": binlake})
    found = {*shell.attr_matches("binlake.")}
    names = ("run", "read", "status", "decode", "check", "verify", "Snapshot", "RunRecord")
    assert {f"binlake.{name}(" for name in names} <= found
    assert not {name for name in found if "MODULES" in name or "TYPE_CHECKING" in name}


def test_the_version_is_the_packages() -> None:
    assert binlake.__version__ == metadata.version("binlake")


def test_what_needs_no_spark_loads_none() -> None:
    refused = "import sys; sys.modules.update(pyspark=None, delta=None); import binlake; "
    assert python(f"{refused}print(binlake.decode, binlake.Snapshot, binlake.read)")


@pytest.mark.parametrize("package", ["binlake", "decoder", "pipeline"])
def test_type_checkers_take_the_packages_annotations(package: str) -> None:
    """Types of results are of the other packages: without the file they would all be Any."""
    assert (ROOT / package / "py.typed").is_file()
