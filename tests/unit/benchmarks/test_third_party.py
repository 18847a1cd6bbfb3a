"""Building peers: checksums and errors, without a real build."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchmarks import third_party
from benchmarks.peers import build
from benchmarks.peers.catalog import PEERS
from benchmarks.third_party import CannotBuildError, verify

CONTENT = b"a jar"
LISTED = f"{hashlib.sha256(CONTENT).hexdigest()}  peer.jar\n"


def test_listed_files_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "peer.jar").write_bytes(CONTENT)
    verify(tmp_path, LISTED)


@pytest.mark.parametrize(
    "found",
    [{}, {"peer.jar": b"another"}, {"peer.jar": CONTENT, "more.jar": b"more"}],
    ids=["missing", "changed", "one more"],
)
def test_other_files_than_the_listed_ones_are_refused(
    found: dict[str, bytes], tmp_path: Path
) -> None:
    for name, content in found.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CannotBuildError, match="downloaded"):
        verify(tmp_path, LISTED)


@pytest.mark.parametrize(
    ("peer", "tool"),
    [("go-mysql", "go"), ("mysql_common", "cargo"), ("mysql-binlog-connector-java", "mvn")],
)
def test_a_missing_tool_is_reported(
    peer: str, tool: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(third_party, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = [each for each in PEERS if each.name == peer]
    with pytest.raises(CannotBuildError, match=f"{tool}.* not on this machine"):
        found.build()


def test_a_failed_build_is_reported_and_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    go = tools / "go"
    go.write_text("#!/bin/sh\necho no network >&2\nexit 1\n")
    go.chmod(0o755)
    monkeypatch.setattr(third_party, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    for _ in range(2):
        with pytest.raises(CannotBuildError, match="no network"):
            build.go_mysql()
