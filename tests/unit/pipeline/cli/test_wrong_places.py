"""Places in the settings that do not exist: one line before Spark starts, and nothing changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import DONE_WITH_FAULTS, MissingRequirementError
from tests.unit.pipeline.cli.conftest import ended, not_starting

pytestmark = pytest.mark.usefixtures("as_before")

NO_LAKE = (
    "lake: there is no lake in {folder}/lak: nothing has been replicated there yet. Run binlake run"
    " first, or give the folder that it was given."
)


@pytest.mark.parametrize(
    ("command", "given", "begins"),
    [
        *(
            (command, {"lake": "{folder}/lak"}, NO_LAKE)
            for command in ("decode", "apply", "retry", "maintain", "status", "runs", "verify")
        ),
        (
            "run",
            {"lake": "{folder}/new", "binlogs": "{folder}/logz"},
            "binlogs: no files at {folder}/logz. Did you mean {folder}/logs? Give a binary",
        ),
        (
            "ingest",
            {"lake": "{folder}/new", "binlogs": "{folder}/x/y"},
            "binlogs: no files at {folder}/x/y. {folder} does not contain x. Give a binary log, a",
        ),
        (
            "run",
            {"lake": "{folder}/new", "binlogs": "{folder}/logs/mysql-bin.*"},
            "binlogs: no files at {folder}/logs/mysql-bin.*. Give a binary log, a folder",
        ),
        (
            "run",
            {"lake": "{folder}/new", "binlogs": "{folder}/empty"},
            "binlogs: no files at {folder}/empty: the folder contains only hidden files",
        ),
        (
            "run",
            {"lake": "{folder}/new", "binlogs": "{folder}/text"},
            "binlogs: there is no binary log at {folder}/text: no file there begins with a binary",
        ),
        (
            "run",
            {"lake": "{folder}/new", "definitions": "{folder}/none.sql"},
            "{folder}/none.sql: definitions: cannot be read: No such file",
        ),
        (
            "ingest",
            {"lake": "{folder}/new", "encryption": "{{keyring: '{folder}/none'}}"},
            "encryption.keyring: {folder}/none cannot be read: No such file",
        ),
        (
            "seed",
            {"lake": "{folder}/new", "seed": "{{dump: '{folder}/log.sql'}}"},
            "seed.dump: no files at {folder}/log.sql. ",
        ),
        ("seed", {"lake": "{folder}/new"}, "server.host: is not set. Give --server mysql://"),
    ],
)
def test_a_wrong_place_is_one_line_before_spark_starts_and_changes_nothing(
    conf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    given: dict[str, str],
    begins: str,
) -> None:
    not_starting(monkeypatch, AssertionError("Spark was started"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "notes.txt").write_text("no log")
    values = {"lake": "{folder}/lake", "binlogs": "{folder}/logs", **given}
    lines = (f"{key}: {value.format(folder=tmp_path)}\n" for key, value in values.items())
    conf.write_text("".join(lines))
    before = sorted(tmp_path.rglob("*"))
    assert ended(monkeypatch, command, "--conf", str(conf)) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith(f"binlake: {begins.format(folder=tmp_path)}")
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["binlog.000007", "log.000001.gz"])
def test_a_folder_with_damaged_logs_is_not_a_wrong_folder(
    conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A run reports them, and ingests the others."""
    not_starting(monkeypatch, MissingRequirementError("no Java."))
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / name).write_bytes(b"\0" * 100)
    conf.write_text(f"lake: {tmp_path}/new\nbinlogs: {damaged}\n")
    assert ended(monkeypatch, "run", "--conf", str(conf)) == DONE_WITH_FAULTS
