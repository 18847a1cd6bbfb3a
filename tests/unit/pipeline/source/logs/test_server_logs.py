"""Choosing among several copies of a log."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.source import find_binlogs
from pipeline.source.logs.server_logs import is_closed, logs_by_server
from tests.support.bronze.bronze_input import FILES, IN_USE
from tests.support.decoder.archives import pack

LOG = FILES[0].read_bytes()
GROWING = LOG[:IN_USE] + bytes([LOG[IN_USE] | 1]) + LOG[IN_USE + 1 : 150_000]


@pytest.mark.parametrize(
    ("copies", "taken"),
    [
        ({"a": GROWING[:90_000], "b": GROWING}, "b"),
        ({"a": pack("gzip", LOG), "b": LOG}, "b"),
        ({"a": pack("gzip", GROWING), "b": pack("zstd", LOG)}, "b"),
        ({"a": GROWING, "b": pack("gzip", LOG)}, "b"),
        # the archive is of an earlier copy of a log that the server still writes
        ({"a": pack("gzip", GROWING[:90_000]), "b": GROWING}, "b"),
        ({"a": LOG[:90_000], "b": LOG, "c": pack("lz4", LOG)}, "b"),
        # mysqlbinlog --raw was stopped, or is still running
        ({"a": LOG[:90_000], "b": pack("gzip", LOG)}, "b"),
        ({"a": pack("zstd", LOG[:80_000]), "b": LOG[:90_000]}, "b"),
        ({"a": pack("zstd", LOG[:90_000]), "b": LOG[:90_000]}, "b"),
        # damaged at or before the end of the plain one
        ({"a": pack("gzip", LOG)[:9_000], "b": LOG[:90_000]}, "b"),
    ],
    ids=[
        *("longest", "plain", "closed", "closed since", "still growing", "of three"),
        *("goes on", "shorter", "as long", "damaged"),
    ],
)
def test_the_best_copy_is_used_and_the_others_are_noted(
    tmp_path: Path, copies: dict[str, bytes], taken: str
) -> None:
    for folder, content in copies.items():
        (tmp_path / folder).mkdir()
        suffix = "" if content.startswith(LOG[:4]) else ".gz"
        (tmp_path / folder / f"binlog.000001{suffix}").write_bytes(content)
    (log,), notes = logs_by_server(find_binlogs(str(tmp_path)).binlogs)
    (binlog,) = log.files
    assert Path(binlog.stored.path).parent.name == taken
    assert len(notes) == len(copies) - 1
    assert all(f"is a copy of {binlog.stored.path}" in note for note in notes)


def test_a_log_is_closed_if_it_ends_with_the_servers_event(tmp_path: Path) -> None:
    for number, (content, closed) in enumerate(
        [(LOG, True), (LOG[:-1], False), (LOG[:90_000], False), (LOG + LOG[-60:], False)]
    ):
        file = tmp_path / str(number) / "binlog.000001"
        file.parent.mkdir()
        file.write_bytes(content)
        (binlog,) = find_binlogs(str(file)).binlogs
        assert is_closed(binlog) == closed
