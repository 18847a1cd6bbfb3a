"""Errors of real servers: each message has the cause and the remedy, and never a password."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.settings.capture import CaptureSettings
from pipeline.settings.server import TlsSettings
from pipeline.source import Capture
from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_stream import DumpStream
from pipeline.source.capture.errors import (
    DamagedStateError,
    DumpRefusedError,
    FolderInUseError,
    SameIdentityError,
    TooFewConnectionsError,
)
from pipeline.source.capture.landed_folder import exclusive_folder
from pipeline.source.capture.source import SourceQueries
from pipeline.source.capture.state import STATE, Replica, read_state
from pipeline.source.server.connection import connect, explained_errors
from pipeline.source.server.errors import AccessDeniedError, ServerError, ServerUnreachableError
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login
from tests.support.servers.server import Server
from tests.support.source.capturing import capture, capturing, differing, eventually, login_of

PASSWORD = "ein-geheimes-Wort"
SERVERS = ("mysql", "newest_mariadb", "mariadb")
RIGHTS = {
    True: "REPLICATION SLAVE, BINLOG MONITOR",
    False: "REPLICATION SLAVE, REPLICATION CLIENT",
}


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def reader(server: Server) -> Iterator[Login]:
    """Return a user that may capture."""
    ((version,),) = server.execute("SELECT VERSION()")
    server.execute("DROP USER IF EXISTS refused")
    server.execute("CREATE USER refused IDENTIFIED BY %s", [PASSWORD])
    server.execute(f"GRANT {RIGHTS['MariaDB' in version]} ON *.* TO refused")
    yield Login("127.0.0.1", "refused", server.port, password=SecretStr(PASSWORD))
    server.execute("DROP USER refused")


def refusal_of(login: Login) -> ServerError:
    """Return the refusal of a login, or of a statement after it."""
    with (
        pytest.raises(ServerError) as error,
        connect(login) as connection,
        explained_errors(login),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT 1")
    assert PASSWORD not in f"{error.value}{error.value!r}"
    return error.value


def test_a_user_that_requires_ssl_may_be_why_it_is_denied_without(
    server: Server, reader: Login
) -> None:
    server.execute("ALTER USER refused REQUIRE SSL")
    plain = replace(reader, tls=TlsSettings(mode="disabled"))
    message = str(refusal_of(plain))
    assert "or the user REQUIREs SSL" in message
    assert "set server.tls.mode to required" in message
    # With TLS it cannot be that.
    message = str(refusal_of(replace(reader, password=SecretStr("wrong"))))
    assert "REQUIREs SSL" not in message
    assert "Check the password" in message


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("ACCOUNT LOCK", "ALTER USER … ACCOUNT UNLOCK"),
        ("PASSWORD EXPIRE", "password has expired.* new password"),
    ],
)
def test_a_locked_or_expired_account_is_reported_with_the_cause(
    server: Server, reader: Login, state: str, message: str
) -> None:
    server.execute(f"ALTER USER refused {state}")
    with pytest.raises(AccessDeniedError, match=message):
        raise refusal_of(reader)


def test_a_capture_reports_that_it_needs_two_connections(
    server: Server, reader: Login, tmp_path: Path
) -> None:
    server.execute("ALTER USER refused WITH MAX_USER_CONNECTIONS 1")
    with pytest.raises(TooFewConnectionsError, match=r"needs two.* MAX_USER_CONNECTIONS 2"):
        Capture(CaptureSettings(to=str(tmp_path), forever=True), reader).run()
    with connect(reader), pytest.raises(ServerUnreachableError, match="capture needs two"):
        connect(reader)
    server.execute("ALTER USER refused WITH MAX_USER_CONNECTIONS 2")
    Capture(CaptureSettings(to=str(tmp_path)), reader).run()


def test_the_capture_of_a_copied_folder_has_the_identity_of_another(
    server: Server, tmp_path: Path
) -> None:
    original, copy = tmp_path / "original", tmp_path / "copy"
    capture(server, original)
    shutil.copytree(original, copy)
    with pytest.raises(SameIdentityError, match=rf"identity of {original}: .*remove \{STATE} from"):
        _capture_both(server, original, copy)
    (copy / STATE).unlink()
    with capturing(server, original), capturing(server, copy):
        eventually(lambda: _dumps(server) == 2)
    assert not differing(server, copy)


def _capture_both(server: Server, original: Path, copy: Path) -> None:
    """Run both captures, the copy's second, until the original's has ended."""
    with capturing(server, original):
        eventually(lambda: _dumps(server) == 1)
        with capturing(server, copy):
            eventually(lambda: _is_over(original))


def _dumps(server: Server) -> int:
    listed = server.execute("SELECT command FROM information_schema.processlist")
    return sum(command.startswith("Binlog Dump") for (command,) in listed)


def _is_over(folder: Path) -> bool:
    """True once no capture runs in a folder."""
    try:
        with exclusive_folder(folder):
            return True
    except FolderInUseError:
        return False


def test_a_damaged_state_is_reported_with_the_remedy(server: Server, tmp_path: Path) -> None:
    capture(server, tmp_path)
    state = tmp_path / STATE
    before = read_state(tmp_path)
    assert before is not None
    state.write_text(state.read_text()[:100])
    with pytest.raises(DamagedStateError, match=r"move it away and run again"):
        capture(server, tmp_path)
    state.rename(tmp_path / "damaged.json")
    after = capture(server, tmp_path)
    assert after.position >= before.position
    assert not differing(server, tmp_path)


def test_a_first_file_that_the_server_lacks_is_a_wrong_setting(
    server: Server, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError, match=r"the server has no file nolog\.000099, only") as error:
        capture(server, tmp_path, first_file="nolog.000099")
    assert (error.value.key, error.value.exit_code) == ("capture.first_file", 2)


@pytest.mark.parametrize(
    ("file", "position", "message"),
    [
        ("nolog.000099", 4, "no longer has the requested file"),
        ("", 100_000_000, "shorter than the landed one"),
        ("", 5, r"max_allowed_packet on the server|cannot read its own log"),
    ],
)
def test_a_refused_dump_is_reported_with_its_cause(
    server: Server, file: str, position: int, message: str
) -> None:
    place = LogPosition(file or server.binlogs()[-1].name, position)
    with closing(SourceQueries(login_of(server))) as source:
        dump = DumpConnection(
            login_of(server),
            Replica.new(),
            place,
            server=source.identity,
            wait=False,
            gtids=False,
        )
    try:
        with pytest.raises(DumpRefusedError, match=message):
            _receive_all(dump)
    finally:
        dump.close()


def _receive_all(dump: DumpConnection) -> None:
    stream = DumpStream()
    while True:
        list(stream.received(dump.receive_into(stream.room())))
