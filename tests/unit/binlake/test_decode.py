"""`binlake.decode` gives what `decoder.read` gives, of whatever form a file has."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import binlake
import decoder
from tests.support.decoder.event_bytes import recorded

Batches = list[tuple[str, str, object]]


def batches(found: object) -> Batches:
    assert hasattr(found, "__iter__")
    return [(c.schema, c.table, c.batch) for c in found]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Three logs of a server, the second of them compressed, and its index."""
    for number, name in enumerate(("plain", "full_metadata", "no_gtid"), 1):
        (tmp_path / f"log.00000{number}").write_bytes(recorded(name))
    second = tmp_path / "log.000002"
    (tmp_path / "log.000002.gz").write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()
    (tmp_path / "log.index").write_text("log.000001\n")
    return tmp_path


def test_a_folder_is_read_in_order(logs: Path) -> None:
    expected: Batches = []
    for number, name in enumerate(("plain", "full_metadata", "no_gtid"), 1):
        expected += batches(decoder.read(recorded(name), file=f"log.00000{number}"))
    assert batches(binlake.decode(logs)) == expected
    assert batches(binlake.decode(str(logs / "log.*1"), logs / "log.000002.gz", logs)) == expected


def test_options_are_the_decoders(logs: Path) -> None:
    options = binlake.TypeOptions(time="micros")
    expected = batches(decoder.read(recorded("plain"), file="log.000001", options=options))
    assert batches(binlake.decode(logs / "log.000001", options=options)) == expected


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(binlake.SettingsError, match="no files at"):
        binlake.decode(tmp_path / "none")
    (tmp_path / "log.000001").write_bytes(b"\0" * 100)
    with pytest.raises(binlake.BinlogError, match=r"log\.000001"):
        binlake.decode(tmp_path)
    whole = recorded("plain")
    (tmp_path / "log.000001").write_bytes(whole[:-40] + bytes(20) + whole[-20:])
    with pytest.raises(binlake.BinlogError) as raised:
        list(binlake.decode(tmp_path))
    assert (raised.value.file, raised.value.position is not None) == ("log.000001", True)
