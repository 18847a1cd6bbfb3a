"""Copies by `mysqlbinlog --raw`, repeated, compressed and in daily folders, equal the server's
log.
"""

from __future__ import annotations

from pathlib import Path

from tests.support.bronze.bronze_input import Bronze
from tests.support.decoder.archives import pack
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.spark.no_spark import NEVER_STARTED


def copy(server: MySQLServer, first: str, folder: Path) -> None:
    """Copy the log from a file on, as the server sends it, without waiting for more."""
    folder.mkdir(exist_ok=True)
    server.tool(
        "mysqlbinlog",
        *("--read-from-remote-server", "--raw", "--to-last-log"),
        *(f"--socket={server.socket}", "--user=root", f"--result-file={folder}/"),
        first,
    )


def test_copies_of_two_days_are_one_log(mysql_factory: MySQLFactory, tmp_path: Path) -> None:
    server = mysql_factory("--max-binlog-size=16384")
    bronze = Bronze(NEVER_STARTED, tmp_path)
    with server.connect() as connection:
        traffic.run(connection, 40, seed=1)
        copy(server, "binlog.000001", bronze.input / "2026-11-21")
        last = server.binlogs()[-1].name
        report = bronze.run()
        assert report.clean, report
        assert bronze.rows()[last].state == "open"
        first_day = bronze.input / "2026-11-21"
        closed = sorted(first_day.iterdir())[:-1]
        for file in closed:
            (first_day / f"{file.name}.gz").write_bytes(pack("gzip", file.read_bytes()))
            file.unlink()

        traffic.run(connection, 40, seed=2, create=False)
        connection.cursor().execute("FLUSH BINARY LOGS")
    # The second day's copy starts with the file that was incomplete in the first, now complete.
    copy(server, last, bronze.input / "2026-11-22")
    report = bronze.run()
    assert report.clean, report
    assert any("2026-11-21" in note and last in note for note in report.notes)
    files = server.binlogs()
    assert len(files) > len(closed) + 2
    rows = bronze.rows()
    assert [row.state for row in rows.values()] == ["complete"] * (len(files) - 1) + ["open"]
    assert bronze.holds(*files[:-1])
