from __future__ import annotations

from pipeline.source.capture.replica_commands import (
    BINLOG_DUMP_NON_BLOCK,
    acknowledgement,
    binlog_dump,
    binlog_dump_gtid,
    register_replica,
)


def test_binlog_dump_matches_mariadbs_documentation() -> None:
    """The example on its page "COM_BINLOG_DUMP", after the command byte."""
    shown = "34 06 00 00 02 00 75 27 00 00 6d 79 73 71 6c 2d 62 69 6e 2e 30 30 30 30 33 34"
    assert binlog_dump(10101, "mysql-bin.000034", 0x634, 2) == bytes.fromhex(shown)


def test_binlog_dump_gtid_supports_positions_after_4_gib() -> None:
    made = binlog_dump_gtid(7, "b.000001", 5 << 32, BINLOG_DUMP_NON_BLOCK)
    assert made == bytes.fromhex(
        "0100 07000000 08000000 622e303030303031 0000000005000000 08000000 0000000000000000"
    )


def test_a_replica_is_registered_without_a_host_name() -> None:
    assert register_replica(7, 3306) == bytes.fromhex("07000000 00 00 00 ea0c 00000000 00000000")


def test_an_acknowledgement_names_file_and_position() -> None:
    assert acknowledgement("b.1", 300) == bytes.fromhex("ef 2c01000000000000 622e31")
