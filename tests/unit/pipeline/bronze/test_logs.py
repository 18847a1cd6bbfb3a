"""Which of several copies of a log is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.bronze.listing import find_binlogs
from pipeline.bronze.logs import split_logs
from tests.support.archives import pack
from tests.support.bronze_input import FILES, IN_USE

LOG = FILES[0].read_bytes()
GROWING = LOG[:IN_USE] + bytes([LOG[IN_USE] | 1]) + LOG[IN_USE + 1 : 150_000]


@pytest.mark.parametrize(
    ("copies", "taken"),
    [
        ({"a": GROWING[:90_000], "b": GROWING}, "b"),
        ({"a": pack("gzip", LOG), "b": LOG}, "b"),
        ({"a": pack("gzip", GROWING), "b": pack("zstd", LOG)}, "b"),
        ({"a": GROWING, "b": pack("gzip", LOG)}, "b"),
        # the archive was made of an earlier copy of what the server still writes
        ({"a": pack("gzip", GROWING[:90_000]), "b": GROWING}, "b"),
        ({"a": LOG[:90_000], "b": LOG, "c": pack("lz4", LOG)}, "b"),
    ],
    ids=["longest", "plain", "closed", "closed since", "still growing", "of three"],
)
def test_of_copies_one_is_taken_and_the_others_are_noted(
    tmp_path: Path, copies: dict[str, bytes], taken: str
) -> None:
    for folder, content in copies.items():
        (tmp_path / folder).mkdir()
        suffix = "" if content.startswith(LOG[:4]) else ".gz"
        (tmp_path / folder / f"binlog.000001{suffix}").write_bytes(content)
    (log,), notes = split_logs(find_binlogs(str(tmp_path)).binlogs)
    (binlog,) = log.files
    assert Path(binlog.stored.path).parent.name == taken
    assert len(notes) == len(copies) - 1
    assert all(f"{binlog.stored.path} is the same" in note for note in notes)
