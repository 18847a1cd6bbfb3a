"""The login: precedence of its sources, invalid values, and redaction of passwords."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, strategies as st

from pipeline.errors import SettingsError
from pipeline.observe import redact
from pipeline.settings import Settings
from pipeline.settings.server import ServerUrl
from pipeline.source.server.login import Login, login

PASSWORD = "Xq7 @/#?Zk9"
ENCODED = "Xq7%20%40%2F%23%3FZk9"
CONF = {"host": "conf", "port": 3307, "user": "conf_user"}


def logged_in(
    server: dict[str, Any] | str | None = None,
    conf: Path | None = None,
    **environment: str,
) -> Login:
    return login(Settings.load(conf, server=server), environment)


@pytest.mark.parametrize(
    ("server", "environment", "address", "user"),
    [
        (CONF, {}, "conf:3307", "conf_user"),
        ({"host": "conf", "user": "u"}, {}, "conf:3306", "u"),
        ({"host": "::1", "user": "u"}, {}, "[::1]:3306", "u"),
        ({"socket": "/run/mysqld.sock", "user": "u"}, {}, "/run/mysqld.sock", "u"),
        ({**CONF, "socket": "/run/mysqld.sock"}, {}, "/run/mysqld.sock", "conf_user"),
        (CONF, {"BINLAKE_SERVER": "mysql://env_user@env:3308"}, "env:3308", "env_user"),
        (CONF, {"BINLAKE_SERVER": "mariadb://env"}, "env:3306", "conf_user"),
        (CONF, {"BINLAKE_SERVER": "mysql://a%40b@env/shop"}, "env:3306", "a@b"),
        (CONF, {"BINLAKE_SERVER": ""}, "conf:3307", "conf_user"),
        (
            {**CONF, "socket": "/run/mysqld.sock"},
            {"BINLAKE_SERVER": "mysql://env"},
            "env:3306",
            "conf_user",
        ),
        (
            {**CONF, "url": "mysql://option_user@option:3309"},
            {"BINLAKE_SERVER": "mysql://env_user@env"},
            "option:3309",
            "option_user",
        ),
        (
            {**CONF, "url": "mysql://[2001:db8::1]:3309"},
            {"BINLAKE_SERVER": "mysql://env_user@env"},
            "[2001:db8::1]:3309",
            "env_user",
        ),
    ],
)
def test_the_command_line_overrides_the_environment_which_overrides_conf(
    server: dict[str, Any], environment: Mapping[str, str], address: str, user: str
) -> None:
    found = logged_in(server, **environment)
    assert (found.address, found.user) == (address, user)


def test_the_server_option_is_merged_into_the_server_section(tmp_path: Path) -> None:
    conf = tmp_path / "conf.yml"
    conf.write_text("server: {host: conf, user: u, tls: {mode: required}}\n")
    found = logged_in("mysql://option", conf)
    assert (found.address, found.user, found.tls.mode) == ("option:3306", "u", "required")
    conf.write_text("lake: /lake\nserver:\n")
    assert logged_in("mysql://u@option", conf).address == "option:3306"


FILE = "from the file"


@pytest.mark.parametrize(
    ("server", "environment", "password"),
    [
        ({}, {}, ""),
        ({"password_file": FILE}, {}, FILE),
        ({"password_file": FILE}, {"BINLAKE_SERVER_PASSWORD": PASSWORD}, PASSWORD),
        ({}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, PASSWORD),
        ({"password_file": FILE}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, PASSWORD),
        (
            {},
            {"BINLAKE_SERVER": "mysql://u:other@env", "BINLAKE_SERVER_PASSWORD": PASSWORD},
            PASSWORD,
        ),
        # The option names the same server and user: the password is used.
        ({"url": "mysql://u@env"}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, PASSWORD),
        # It names others, to which the password must not be sent.
        ({"url": "mysql://u@elsewhere"}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, ""),
        ({"url": "mysql://u@env:3307"}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, ""),
        ({"url": "mysql://other@env"}, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@env"}, ""),
    ],
)
def test_the_password_is_read_from_the_environment_or_a_file(
    tmp_path: Path, server: dict[str, str], environment: Mapping[str, str], password: str
) -> None:
    server = {**CONF, **server}
    if "password_file" in server:
        server["password_file"] = str(tmp_path / "password")
        (tmp_path / "password").write_text(f"{FILE}\r\nnot this line\n")
    found = logged_in(server, **environment)
    assert found.password.get_secret_value() == password


@pytest.mark.parametrize(
    ("server", "environment", "message"),
    [
        ({}, {}, "server.host: is not set. Give --server mysql://user@host:port, BINLAKE_SERVER"),
        ({"host": "h"}, {}, "server.user: is not set. Give it in --server"),
        (CONF, {"BINLAKE_SERVER": f"http://u:{ENCODED}@h"}, "BINLAKE_SERVER: is not a URL such as"),
        (CONF, {"BINLAKE_SERVER": f"mysql://u:{PASSWORD}@h"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": "mysql://u:Xq7#Zk9@h"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": "mysql://u:47/Xq7Zk9@h"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": "mysql://u:47?Xq7Zk9@h"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": "mysql://u:47#Xq7Zk9@h"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": "mysql://u@h/Xq7/Zk9"}, "BINLAKE_SERVER: is not a URL"),
        (CONF, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@"}, "BINLAKE_SERVER: is not a URL such as"),
        (CONF, {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@h:x"}, "BINLAKE_SERVER: is not a URL"),
        (
            CONF,
            {"BINLAKE_SERVER": f"mysql://u:{ENCODED}@h?ssl-ca=x"},
            "BINLAKE_SERVER: has more after the port",
        ),
        (
            {**CONF, "password_file": "/nowhere"},
            {},
            "server.password_file: /nowhere cannot be read",
        ),
    ],
)
def test_errors_of_the_login_never_contain_the_password(
    server: dict[str, Any], environment: Mapping[str, str], message: str
) -> None:
    with pytest.raises(SettingsError) as error:
        logged_in(server, **environment)
    shown = "".join(traceback.format_exception(error.value))
    assert str(error.value).startswith(message)
    assert "Xq7" not in shown
    assert "Zk9" not in shown


@given(st.text(min_size=1), st.text())
def test_any_user_and_password_survive_a_url(user: str, password: str) -> None:
    read = ServerUrl.read(f"mysql://{quote(user, safe='')}:{quote(password, safe='')}@db:3307")
    assert read.password is not None
    assert (read.user, read.password.get_secret_value()) == (user, password)


@given(st.text())
def test_an_invalid_url_is_refused_without_quoting_it(text: str) -> None:
    assert "Xq7" not in message_of(f"mysql://user:Xq7{text}Zk9@db")


@given(st.text(alphabet="/?#@:;%a1\\", max_size=6))
def test_text_before_the_last_at_sign_is_never_host_or_port(text: str) -> None:
    url = f"mysql://user:4711{text}geheim@db:3307"
    try:
        read = ServerUrl.read(url)
    except ValueError:
        return
    assert (read.host, read.port) == ("db", 3307)
    assert read.password is not None


@pytest.mark.parametrize("suffix", ["", "/", "/shop"])
def test_a_schema_in_a_url_is_ignored(suffix: str) -> None:
    read = ServerUrl.read(f"mysql://user@db:3307{suffix}")
    assert (read.host, read.port, read.user, read.password) == ("db", 3307, "user", None)


def message_of(url: str) -> str:
    """Return the text of the parsed URL, or of the error."""
    try:
        return repr(ServerUrl.read(url))
    except ValueError as error:
        return "".join(traceback.format_exception(error))


def test_an_invalid_server_section_is_refused_even_with_the_option(tmp_path: Path) -> None:
    conf = tmp_path / "conf.yml"
    conf.write_text("server: 5\n")
    with pytest.raises(SettingsError, match="server: "):
        logged_in("mysql://u@h", conf)


@pytest.mark.parametrize("text", ["", "\n", "\r\nsecond line"])
def test_a_password_file_without_a_password_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "password").write_text(text)
    with pytest.raises(SettingsError, match="first line"):
        logged_in({**CONF, "password_file": str(tmp_path / "password")})


def test_a_binary_password_file_is_refused_without_quoting_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "password").write_bytes(b"\xff\xfeabc")
    with pytest.raises(SettingsError, match="is not text in UTF-8") as error:
        logged_in({**CONF, "password_file": str(tmp_path / "password")})
    assert "xff" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (f"mysql://u:{ENCODED}@h", "server.url: contains a password, which the process list"),
        ("mysql://u:@h", "server.url: contains a password"),
        ("h:3306", "server.url: is not a URL such as mysql://user@host:3306"),
        (f"mysql://u:4711/{ENCODED}@h:3306", "server.url: is not a URL such as mysql://user@host"),
        ({"host": "h", "port": 0}, "server.port: "),
        ({"password": ENCODED}, "server.password: is not a setting. Settings files must not"),
        (
            {"tls": {"mode": "on"}},
            "server.tls.mode: expects disabled, preferred, required, verify_",
        ),
        ({"tls": {"ca": "ca.pem"}}, "server.tls: ca needs mode verify_ca or verify_identity"),
        ({"tls": {"mode": "required", "ca": "x"}}, "server.tls: ca needs mode verify_ca"),
        ({"tls": {"cert": "cert.pem"}}, "server.tls: cert needs mode required,"),
        ({"tls": {"mode": "required", "key": "x"}}, "server.tls: key needs cert"),
    ],
)
def test_wrong_settings_are_refused_without_quoting_their_values(
    server: dict[str, Any] | str, message: str
) -> None:
    with pytest.raises(SettingsError) as error:
        Settings.load(server=server)
    assert str(error.value).startswith(message)
    assert ENCODED not in "".join(traceback.format_exception(error.value))


def test_a_password_is_redacted_and_not_in_the_repr() -> None:
    secret = "unheard-of-password"
    found = logged_in(CONF, BINLAKE_SERVER_PASSWORD=secret)
    assert secret not in repr(found)
    assert secret not in repr(ServerUrl.read(f"mysql://u:{secret}@h"))
    assert redact(f"it is {secret}.") == "it is ***."


def test_an_unused_password_is_redacted_too() -> None:
    secret = "of-another-server"
    logged_in({**CONF, "url": "mysql://u@h"}, BINLAKE_SERVER=f"mysql://u:{secret}@env")
    assert redact(f"it is {secret}.") == "it is ***."
