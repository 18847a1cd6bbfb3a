"""The two locks go into one environment: what both pin, they pin alike."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([a-z0-9.-]+(?:\[[a-z,]+\])?==\S+(?: ; [^\\]+)?)", re.MULTILINE)


def pins(lock: str) -> dict[str, set[str]]:
    """By package: its version, or one for each marker."""
    found: dict[str, set[str]] = {}
    for pin in PIN.findall((ROOT / lock).read_text()):
        found.setdefault(re.split(r"[=\[]", pin)[0], set()).add(pin.strip())
    return found


def test_what_both_pin_they_pin_alike() -> None:
    own, airflow = pins("requirements.lock"), pins("requirements-airflow.lock")
    shared = own.keys() & airflow.keys()
    assert {"pydantic", "pyarrow", "typer"} <= shared
    versions = {
        name: ({pin.partition(" ")[0] for pin in own[name]}, {p.partition(" ")[0] for p in pinned})
        for name, pinned in airflow.items()
        if name in shared
    }
    assert {name: both for name, both in versions.items() if not both[1] <= both[0]} == {}


def test_the_pipeline_needs_no_airflow() -> None:
    own, airflow = pins("requirements.lock"), pins("requirements-airflow.lock")
    assert "apache-airflow" in airflow
    assert not [name for name in own if "airflow" in name]


def test_airflow_brings_no_second_pyspark() -> None:
    """pyspark-client's files are pyspark's own: whichever is removed takes the other's along."""
    assert "pyspark-client" not in pins("requirements-airflow.lock")
