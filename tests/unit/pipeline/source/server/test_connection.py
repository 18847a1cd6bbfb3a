"""Connecting: what is sent before the server is trusted, and how its refusals are reported."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pymysql
import pytest
from cryptography.hazmat.primitives import serialization
from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.settings.server import ALWAYS, TlsMode, TlsSettings
from pipeline.source.server.connection import connect
from pipeline.source.server.errors import (
    AccessDeniedError,
    ServerError,
    ServerUnreachableError,
    TlsError,
)
from pipeline.source.server.login import Login
from pipeline.source.server.refusals import BY_CODE
from tests.support.servers.certificates import certificates

PASSWORD = "c0rrecthorse"
SSL = 1 << 11
CAPABILITIES = 0x807FF7FF & ~SSL


def packet(number: int, payload: bytes) -> bytes:
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def greeting(capabilities: int = CAPABILITIES) -> bytes:
    """Protocol::HandshakeV10 of a server without TLS."""
    low, high = capabilities & 0xFFFF, capabilities >> 16
    return packet(
        0,
        b"\x0a9.7.0\0"
        + struct.pack("<I", 7)
        + b"12345678\0"
        + struct.pack("<HBHHB", low, 45, 2, high, 21)
        + bytes(10)
        + b"123456789012\0"
        + b"caching_sha2_password\0",
    )


def refusal(code: int, text: str) -> bytes:
    return packet(2, b"\xff" + struct.pack("<H", code) + b"#08004" + text.encode())


class FakeServer:
    """Sends the given pieces, one after each message of the client."""

    def __init__(self, *replies: bytes) -> None:
        self.heard = b""
        self._replies = replies
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    @contextmanager
    def answering(self) -> Iterator[FakeServer]:
        self._thread.start()
        try:
            yield self
        finally:
            self._thread.join(10)
            self._listener.close()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client:
            client.settimeout(5)
            for text in self._replies:
                client.sendall(text)
                self.heard += client.recv(65536)
            with suppress(ConnectionResetError):
                while more := client.recv(65536):
                    self.heard += more


def login(port: int, mode: TlsMode = "preferred") -> Login:
    tls = TlsSettings(mode=mode)
    return Login("127.0.0.1", "reader", port, password=SecretStr(PASSWORD), tls=tls)


@pytest.mark.parametrize("mode", sorted(ALWAYS))
def test_nothing_is_sent_to_a_server_without_tls_if_tls_is_required(mode: TlsMode) -> None:
    with FakeServer(greeting()).answering() as server, pytest.raises(TlsError) as error:
        connect(login(server.port, mode))
    assert server.heard == b""
    assert f"reader at 127.0.0.1:{server.port}" in str(error.value)


def test_no_password_is_sent_if_the_tls_handshake_fails() -> None:
    with (
        FakeServer(greeting(CAPABILITIES | SSL), b"no TLS record").answering() as server,
        pytest.raises(TlsError, match="the TLS handshake failed"),
    ):
        connect(login(server.port, "required"))
    assert b"reader" not in server.heard


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), ServerUnreachableError),
        (ssl.SSLZeroReturnError(6, "closed"), ServerUnreachableError),
        (ssl.SSLSyscallError(5, "System error"), ServerUnreachableError),
        (ssl.SSLCertVerificationError(1, "self-signed certificate"), TlsError),
        (ssl.SSLError(1, "wrong version number"), TlsError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.__name__,
)
def test_a_connection_lost_during_the_tls_handshake_is_retryable(
    cause: ssl.SSLError, kind: type[ServerError], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = pymysql.err.OperationalError(2003, "Can't connect to MySQL server")
    error.original_exception = cause
    cause.reason = "AS_OPENSSL_SAYS_IT"

    def cut_off(_: object) -> None:
        raise error

    monkeypatch.setattr(pymysql.connections.Connection, "connect", cut_off)
    with pytest.raises(kind) as raised:
        connect(login(3306, "required"))
    assert raised.value.retryable == (kind is ServerUnreachableError)


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_a_request_for_a_cleartext_password_is_refused(plugin: bytes) -> None:
    switch = packet(2, b"\xfe" + plugin + b"\0" + b"\x04Password: ")
    with (
        FakeServer(greeting(), switch).answering() as server,
        pytest.raises(AccessDeniedError, match="requested a cleartext password") as error,
    ):
        connect(login(server.port))
    assert b"reader" in server.heard
    assert PASSWORD.encode() not in server.heard
    assert PASSWORD not in f"{error.value}{error.value!r}"


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_a_refusal_is_explained_by_its_error_code(code: int) -> None:
    with (
        FakeServer(greeting(), refusal(code, "No, not today.")).answering() as server,
        pytest.raises(ServerError) as error,
    ):
        connect(login(server.port))
    kind, cause, remedy = BY_CODE[code]
    assert type(error.value) is kind
    assert str(error.value) == f"reader at 127.0.0.1:{server.port}: No, not today. {cause} {remedy}"
    assert error.value.__cause__ is error.value.__context__ is None


def test_an_unknown_refusal_is_reported_and_retryable() -> None:
    with (
        FakeServer(greeting(), refusal(1105, "Odd.")).answering() as server,
        pytest.raises(ServerUnreachableError, match="the login failed: Odd\\.") as error,
    ):
        connect(login(server.port))
    assert error.value.retryable


def test_a_silent_server_is_waited_for_until_the_timeout() -> None:
    with FakeServer(b"").answering() as server, pytest.raises(ServerUnreachableError):
        connect(replace(login(server.port), connect_timeout=0.2))


def test_only_transient_errors_are_retryable() -> None:
    assert ServerUnreachableError.retryable
    assert not AccessDeniedError.retryable
    assert not TlsError.retryable


def test_a_key_with_a_passphrase_is_refused_without_a_prompt(tmp_path: Path) -> None:
    made = certificates(tmp_path)
    key = serialization.load_pem_private_key(made.key.read_bytes(), None)
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"passphrase"),
        )
    )
    tls = TlsSettings(mode="required", cert=str(made.cert), key=str(made.key))
    with pytest.raises(SettingsError, match="private key is encrypted"):
        connect(Login("127.0.0.1", "reader", 1, tls=tls))


@pytest.mark.parametrize("key", ["ca", "cert"])
def test_invalid_certificate_files_are_named(tmp_path: Path, key: str) -> None:
    made = tmp_path / "some.pem"
    for content, problem in ((None, "cannot be read: No such file"), ("text", "cannot be used: ")):
        if content is not None:
            made.write_text(content)
        tls = TlsSettings.model_validate({"mode": "verify_ca", key: str(made)})
        with pytest.raises(SettingsError) as error:
            connect(Login("127.0.0.1", "reader", 1, tls=tls))
        assert f"server.tls.{key}: {made} {problem}" in str(error.value)
