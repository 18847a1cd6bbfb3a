"""Real servers from MySQL 5.6 to 8.0 and MariaDB 10.2 to 11.4: check, capture and decoding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pytest

from decoder import TypeOptions
from decoder.columns.registry import row_type
from decoder.constants import ColumnType
from decoder.model.definition import Names
from pipeline.seed.jdbc import returns_values_unchanged
from pipeline.seed.values import RowReader
from pipeline.settings.server import TlsSettings
from pipeline.source.check.finding import Finding
from pipeline.source.check.report import CheckReport
from pipeline.source.server.connection import connect
from pipeline.source.server.errors import TlsError
from pipeline.source.server.login import Login
from pipeline.source.server.version import server_version
from pipeline.verify.canonical import JSON, canonical
from tests.integration.verify.test_canonical_texts_against_servers import assert_same_texts
from tests.support.seed.seed_rows import assert_whole_through_spark, differences, selected_cells
from tests.support.servers.certificates import Certificates, certificates
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.older_servers import (
    KINDS,
    MariaDB102Server,
    MariaDB105Server,
    MariaDB114Server,
    MySQL56Server,
    MySQL57Server,
    MySQL80Server,
    running,
)
from tests.support.servers.server import Server
from tests.support.source.capturing import begins_like, capture, capturing, differing, eventually
from tests.support.source.checking import PASSWORD, TABLES, checked, finding, not_fit, reader, root
from tests.support.zoo import older_zoo
from tests.support.zoo.server_values import Document
from tests.support.zoo.zoo_rows import assert_same, inserted, log_of, name_of, names_of

pytestmark = pytest.mark.long

WITHOUT_METADATA = (MySQL57Server, MySQL56Server, MariaDB102Server)
"""Servers whose logs do not name columns."""
WITHOUT_TLS = (MySQL56Server, MariaDB102Server)
"""Servers whose TLS versions Python no longer supports; they are started without TLS."""
WRONG: Mapping[str, str] = MappingProxyType(
    {
        "binlog_format": "MIXED",
        "binlog_row_metadata": "MINIMAL",
        "binlog_row_image": "MINIMAL",
        "binlog_row_value_options": "PARTIAL_JSON",
        "binlog_checksum": "NONE",
        "binlog_expire_logs_seconds": "3600",
        "expire_logs_days": "1",
        "gtid_mode": "ON_PERMISSIVE",
        "gtid_strict_mode": "OFF",
    }
)
"""By variable: a value that the check refuses."""
_MARIADB = frozenset(
    {"binlog_row_image", "binlog_format", "binlog_checksum", "expire_logs_days", "gtid_strict_mode"}
)
_MYSQL = frozenset({"binlog_row_image", "binlog_format", "binlog_checksum"})
REPORTED: Mapping[type[Server], frozenset[str]] = MappingProxyType(
    {
        MySQL80Server: _MYSQL
        | {
            *("binlog_row_metadata", "binlog_row_value_options"),
            *("binlog_expire_logs_seconds", "gtid_mode"),
        },
        MySQL57Server: _MYSQL | {"expire_logs_days", "gtid_mode"},
        MySQL56Server: _MYSQL | {"expire_logs_days"},
        MariaDB114Server: _MARIADB | {"binlog_row_metadata", "binlog_expire_logs_seconds"},
        MariaDB105Server: _MARIADB | {"binlog_row_metadata"},
        MariaDB102Server: _MARIADB,
    }
)
"""The variables that a version has and that can be set at runtime."""
BY_VALUE = canonical(JSON)
"""For JSON of MySQL 5.7, which prints integral doubles as if they were integers."""
CHECK_OF = {"expire_logs_days": "binlog_expire_logs_seconds"}
"""The equivalent check, by the name of a newer variable."""


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> type[Server]:
    found: type[Server] = request.param
    return found


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return certificates(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def server(
    kind: type[Server], own: Certificates, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    options = () if kind in WITHOUT_TLS else own.options
    with running(kind, tmp_path_factory.mktemp(kind.__name__) / "server", *options) as made:
        made.execute(TABLES)
        yield made


def conf_of(report: CheckReport) -> dict[str, str]:
    """Return the lines of conf in the report."""
    lines = (line for found in report.findings for line in found.change.conf)
    return dict(line.split(": ", 1) for line in lines)


def mended(server: Server, found: Sequence[Finding]) -> None:
    for one in found:
        for statement in one.change.statements:
            server.execute(statement)


def fit(server: Server) -> dict[str, str]:
    """Configure the server well; return the lines of conf that it still needs."""
    mended(server, checked(server).findings)
    return conf_of(checked(server))


def test_a_server_passes_with_the_settings_that_check_reports(
    kind: type[Server], server: Server
) -> None:
    conf = fit(server)
    assert bool(conf) == (kind in WITHOUT_METADATA)
    assert set(conf) <= {"definitions", "default_charset"}
    assert not_fit(checked(server, **conf)) == []
    assert finding(checked(server), "tables").has == "2 tables"


def test_wrong_settings_are_found_and_fixed_by_the_given_statements(
    kind: type[Server], server: Server
) -> None:
    conf, reported, lines = fit(server), set(), []
    for variable, value in WRONG.items():
        if variable not in REPORTED[kind]:
            continue
        server.execute(f"SET GLOBAL {variable} = {value}")
        report = checked(server, **conf)
        (check,) = not_fit(report)
        assert check in (variable, CHECK_OF.get(variable))
        mended(server, report.findings)
        lines += finding(report, check).change.option_file
        assert not_fit(checked(server, **conf)) == []
        reported.add(variable)
    assert reported == REPORTED[kind]
    server.stop()
    server.start(*("--" + line.replace(" = ", "=") for line in lines))
    assert not_fit(checked(server, **conf)) == []


def test_a_server_without_a_log_gets_the_options_to_start_with_one(
    kind: type[Server], server: Server, tmp_path: Path
) -> None:
    conf = fit(server)
    with kind(tmp_path / "server", "--skip-log-bin", *without_gtids(kind)) as silent:
        found = finding(checked(silent, **conf), "log_bin")
        assert (found.verdict, found.has, found.change.restart) == ("problem", "OFF", True)
        silent.stop()
        silent.start(*("--" + line.replace(" = ", "=") for line in found.change.option_file))
        assert finding(checked(silent, **conf), "log_bin").verdict == "ok"


def test_gtids_that_are_off_are_advice_until_they_are_on(
    kind: type[Server], server: Server, tmp_path: Path
) -> None:
    if issubclass(kind, MariaDBServer):
        assert "gtid_mode" not in {found.check for found in checked(server).findings}
        return
    conf = fit(server)
    options = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    with kind(tmp_path / "server", *options) as plain:
        found = finding(checked(plain, **conf), "gtid_mode")
        assert (found.verdict, found.has) == ("advice", "OFF")
        mended(plain, [found])
        if found.change.restart:
            plain.stop()
            plain.start(*("--" + line.replace(" = ", "=") for line in found.change.option_file))
        assert finding(checked(plain, **conf), "gtid_mode").verdict == "ok"


def without_gtids(kind: type[Server]) -> tuple[str, ...]:
    """Return the options without which MySQL 5.6 and 5.7 do not start without a log."""
    has = issubclass(kind, MySQL57Server)
    return ("--gtid-mode=OFF", "--skip-log-slave-updates") if has else ()


def granted(server: Server, conf: Mapping[str, str]) -> Login:
    """Create a user with exactly the grants that check reports."""
    if server.execute("SELECT 1 FROM mysql.user WHERE User = 'reader'"):
        server.execute("DROP USER reader")
    server.execute(f"CREATE USER reader IDENTIFIED BY '{PASSWORD}'")
    report = checked(server, reader(server), **conf)
    grants = [found for found in report.findings if found.check.startswith("grant ")]
    assert [found.verdict for found in grants] == [*["problem"] * 4, "advice"]
    assert finding(report, "tables").has == "0 tables"
    mended(server, grants)
    assert not_fit(checked(server, reader(server), **conf)) == []
    return reader(server)


def test_the_grants_of_check_suffice_for_seed_and_capture(server: Server, tmp_path: Path) -> None:
    user = granted(server, fit(server))
    with connect(user) as connection, connection.cursor() as cursor:
        cursor.execute(server_version(connection).log_status_statement)
        for statement in ("FLUSH TABLES WITH READ LOCK", "SELECT * FROM shop.orders"):
            cursor.execute(statement)
    server.reset_logs()
    with capturing(server, tmp_path, user):
        server.execute("INSERT INTO shop.orders VALUES (1, 'as reader')")
        server.flush_logs()
        eventually(lambda: not differing(server, tmp_path))
    server.execute("DELETE FROM shop.orders")


def test_tls_works_with_servers_whose_versions_python_supports(
    kind: type[Server],
    server: Server,
    own: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind in WITHOUT_TLS:
        assert_its_tls_is_refused(kind, own, tmp_path, monkeypatch)
        return
    plain = granted(server, fit(server))
    settings = (TlsSettings(mode="required"), TlsSettings(mode="verify_identity", ca=str(own.ca)))
    for user in (replace(plain, tls=tls) for tls in settings):
        with connect(user) as connection, connection.cursor() as cursor:
            cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
            ((_, cipher),) = cursor.fetchall()
        assert cipher


def assert_its_tls_is_refused(
    kind: type[Server], own: Certificates, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail unless the remedy works: the server offers its TLS, and the connection goes without."""

    plain = kind.connect

    def without(server: Server, **options: object) -> object:
        return plain(server, ssl_disabled=True, **options)

    monkeypatch.setattr(kind, "connect", without)
    with kind(folder / "server", *own.options) as server:
        user = replace(root(server), socket=None, host="127.0.0.1", port=server.port)
        with pytest.raises(TlsError, match=r"support TLS 1\.2.* set server\.tls\.mode to disabled"):
            connect(user)
        connect(replace(user, tls=TlsSettings(mode="disabled"))).close()


def write(server: Server, rows: int) -> None:
    """Run statements, transactions, and one that is partly rolled back."""
    with server.connect(database="shop") as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS written")
        cursor.execute("CREATE TABLE written (id INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)")
        for row in range(rows):
            cursor.execute("BEGIN")
            cursor.execute(f"INSERT INTO written (b) VALUES (REPEAT('x', {row * 1000}))")
            cursor.execute("SAVEPOINT s")
            cursor.execute("DELETE FROM written")
            cursor.execute("ROLLBACK TO SAVEPOINT s")
            cursor.execute("COMMIT")


def test_landed_files_equal_the_servers(server: Server, tmp_path: Path) -> None:
    server.reset_logs()
    for rows in (20, 30):
        write(server, rows)
        server.flush_logs()
        write(server, rows)
        state = capture(server, tmp_path)
        assert not differing(server, tmp_path)
        assert state.lag is not None
        assert (state.lag.bytes, state.lag.transactions) == (0, 0)
    assert state.bytes == sum(log.stat().st_size for log in server.binlogs())


def test_a_log_is_followed_over_a_crash_of_its_server(server: Server, tmp_path: Path) -> None:
    server.reset_logs()
    write(server, 3)
    capture(server, tmp_path)
    server.execute("INSERT INTO shop.written (b) VALUES ('before')")
    server.kill()
    server.start()
    server.execute("INSERT INTO shop.written (b) VALUES ('after')")
    server.execute("SET GLOBAL binlog_checksum = NONE")
    server.execute("INSERT INTO shop.written (b) VALUES ('plain')")
    server.execute("SET GLOBAL binlog_checksum = CRC32")
    capture(server, tmp_path)
    crashed = server.binlogs()[0]
    # MariaDB leaves the in-use flag set there, and the capture clears it.
    assert begins_like(tmp_path / crashed.name, crashed)
    assert (tmp_path / crashed.name).stat().st_size == crashed.stat().st_size
    assert not differing(server, tmp_path, first=1)


@pytest.fixture(scope="module")
def zoo(kind: type[Server], server: Server) -> tuple[bytes, Names]:
    """Return the log of all types of the server, and the names that it lacks."""
    tables = older_zoo.TABLES[kind]
    return log_of(server, tables), names_of(tables)


def test_every_type_is_decoded_as_selected(
    kind: type[Server], server: Server, zoo: tuple[bytes, Names]
) -> None:
    log, names = zoo
    rows = inserted(log, names=names)
    assert rows.keys() >= {name_of(table) for table in older_zoo.TABLES[kind]}
    document = BY_VALUE if kind is MySQL57Server else Document
    for found in rows.values():
        assert_same(server, *found, document)
    rows = inserted(log, TypeOptions(zero_dates="string"), names=names)
    for table in ("zoo_zero_dates", "zoo_temporal"):
        assert_same(server, *rows[table])


def test_every_type_is_seeded_as_it_is_logged(
    kind: type[Server], server: Server, zoo: tuple[bytes, Names]
) -> None:
    log, names = zoo
    for definition, logged in inserted(log, names=names).values():
        batch = RowReader(definition, TypeOptions()).read(selected_cells(server, definition))
        assert pa.struct(list(batch.schema)) == row_type(definition, TypeOptions())
        for column, read, ours in zip(definition.columns, batch.columns, logged, strict=True):
            values = [read.to_pylist(), ours.to_pylist()]
            if kind is MySQL57Server and column.type == ColumnType.JSON:
                values = [[one and BY_VALUE(one) for one in several] for several in values]
            assert differences(column.name, *values)[:5] == []
        if kind is not MySQL56Server:
            assert_whole_through_spark(server, definition)


def test_a_server_that_truncates_values_in_sparks_query_is_read_without_it(
    kind: type[Server], server: Server
) -> None:
    with server.connect() as connection:
        assert returns_values_unchanged(server_version(connection)) is (kind is not MySQL56Server)


def test_every_type_is_verified_as_equal(
    kind: type[Server], server: Server, zoo: tuple[bytes, Names]
) -> None:
    log, names = zoo
    tables = {name_of(table) for table in older_zoo.TABLES[kind]}
    assert_same_texts(server, log, tables, "null", names)
    assert_same_texts(server, log, {"zoo_temporal", "zoo_zero_dates"}, "string", names)
