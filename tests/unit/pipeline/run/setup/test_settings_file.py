"""The settings file that `binlake init` writes, from made facts; no server is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.run.setup import settings_file
from pipeline.run.setup.proposal import BINLOGS, LAKE, Given, propose
from pipeline.run.setup.settings_file import write_settings
from pipeline.run.setup.settings_text import WIDTH, settings_text
from pipeline.settings import Settings
from pipeline.settings.meanings import field_meanings
from pipeline.source.check.facts import CheckedTable, ServerFacts
from pipeline.source.server.login import Login
from tests.support.source.made_facts import made_facts

PASSWORD = "correct horse"
LOGIN = Login("db.example.com", "binlake", 3307, password=SecretStr(PASSWORD))
TABLES = tuple(
    CheckedTable(schema, table)
    for schema, table in [("shop", "orders"), ("shop", "items"), ("crm", "people"), ("sys", "x")]
)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`write(facts, …)`: the text of the file for a server that reports this."""

    def written(facts: ServerFacts) -> str:
        monkeypatch.setattr(settings_file, "server_facts", lambda _: facts)
        file = tmp_path / "shop.yml"
        write_settings(LOGIN, Given(), file, force=True)
        return file.read_text()

    return written


def test_the_file_is_what_the_server_calls_for(write: Any, tmp_path: Path) -> None:
    text = write(made_facts("9.7.0", {"system_time_zone": "UTC"}, tables=TABLES))
    assert yaml.safe_load(text) == {
        "source": "db",
        "server": {"host": "db.example.com", "port": 3307, "user": "binlake"},
        "capture": {"to": BINLOGS},
        "binlogs": BINLOGS,
        "lake": LAKE,
        "include": ["crm.*", "shop.*"],
        "default_charset": "utf8mb4",
        "system_time_zone": "UTC",
        "lower_case_table_names": 0,
    }
    loaded = Settings.load(tmp_path / "shop.yml")
    assert (loaded.source, loaded.server.port) == ("db", 3307)
    assert "# binlake check finds no problem." in text
    assert "crm (1 table), shop (2 tables)" in text
    assert text.count("A placeholder: replace it.") == 3
    assert max(map(len, text.splitlines())) <= WIDTH
    assert not any(line.endswith(" ") for line in text.splitlines())


def test_each_key_is_below_its_meaning(write: Any) -> None:
    lines = write(made_facts("9.7.0")).splitlines()
    words = " ".join(line.strip().removeprefix("#").strip() for line in lines)
    for name in ("source", "lake", "include", "lower_case_table_names"):
        assert field_meanings(Settings)[name] in words
    keys = [n for n, line in enumerate(lines) if ":" in line and not line.strip().startswith("#")]
    commented = [lines[n - 1].strip().startswith("#") for n in keys]
    assert all(commented), [lines[n] for n, there in zip(keys, commented, strict=True) if not there]


def test_no_password_is_written(write: Any) -> None:
    text = write(made_facts("9.7.0"))
    assert PASSWORD not in text
    assert "BINLAKE_SERVER_PASSWORD" in text
    assert "#   password_file: " in text


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"system_time_zone": "GMT"}, {"system_time_zone": "+00:00"}),
        ({"lower_case_table_names": "1"}, {"lower_case_table_names": 1}),
        ({"lower_case_table_names": None}, {"lower_case_table_names": None}),
        ({"character_set_server": "unheard_of"}, {"default_charset": None}),
        ({"character_set_server": "latin1"}, {"default_charset": "latin1"}),
    ],
)
def test_variables_become_settings(facts: dict[str, Any], expected: dict[str, Any]) -> None:
    values = propose(made_facts("9.7.0", facts), LOGIN, Given()).values
    assert {name: values.get(name) for name in expected} == expected


def test_an_offset_asks_for_a_name(write: Any) -> None:
    text = write(made_facts("9.7.0", {"system_time_zone": "CEST"}, utc_offset=7200))
    assert yaml.safe_load(text)["system_time_zone"] == "+02:00"
    assert "The server calls it CEST. If it has daylight saving time" in text


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        (
            {"binlog_format": "MIXED"},
            ["problem: binlog_format: MIXED.", "SET PERSIST binlog_format"],
        ),
        ({"binlog_row_image": "MINIMAL"}, ["advice: binlog_row_image: MINIMAL."]),
        ({"binlog_row_metadata": "MINIMAL"}, ["advice: binlog_row_metadata: MINIMAL."]),
        (
            {"log_bin": "OFF"},
            ["problem: log_bin: OFF.", "then restart it:", "#   log_bin = binlog"],
        ),
        ({"binlog_encryption": "ON"}, ["in this file:", "#   encryption: {keyring: "]),
    ],
)
def test_findings_are_comments_with_what_to_change(
    write: Any, variables: dict[str, str], words: list[str]
) -> None:
    text = write(made_facts("9.7.0", variables))
    assert [word for word in words if word not in text] == []
    assert "finds no problem" not in text


def test_tables_that_gold_could_not_equal_are_excluded(write: Any) -> None:
    tables = (
        *TABLES,
        CheckedTable("shop", "hole[1]", engine="BLACKHOLE"),
        CheckedTable("shop", "history", kind="SYSTEM VERSIONED"),
        CheckedTable("shop", "bare", keyed=False),
    )
    text = write(made_facts("11.8.3-MariaDB", tables=tables))
    settings = Settings(**yaml.safe_load(text))
    assert [t.name for t in tables if not settings.wanted(t.schema, t.table)] == [
        "sys.x",
        "shop.hole[1]",
        "shop.history",
    ]
    assert '#     "shop.bare": [columns]' in text


@pytest.mark.parametrize(
    "name",
    ["a b", "naïve", "*", "[x]", "${HOME}", "'", "a\nlake: /elsewhere", "a\u2028b", "a\x07b"],
)
def test_any_name_of_a_schema_is_matched_and_never_leaves_its_place(
    write: Any, tmp_path: Path, name: str
) -> None:
    write(made_facts("9.7.0", tables=(CheckedTable(name, "t"), CheckedTable("x", "t"))))
    settings = Settings.load(tmp_path / "shop.yml")
    assert settings.lake == LAKE
    assert (settings.wanted(name, "t"), settings.wanted("other", "t")) == (True, False)


@pytest.mark.parametrize(
    ("schemas", "host", "expected"),
    [
        (["shop"], "db", "shop"),
        (["a b!"], "db", "a-b"),
        (["a", "b"], "db-1.example.com", "db-1"),
        (["a", "b"], "10.0.0.7", "mysql"),
        (["a", "b"], "localhost", "mysql"),
        (["…"], "db", "mysql"),
    ],
)
def test_the_source_is_named_after_the_schema_or_the_host(
    schemas: list[str], host: str, expected: str
) -> None:
    facts = made_facts("9.7.0", tables=tuple(CheckedTable(name, "t") for name in schemas))
    assert propose(facts, Login(host, "u"), Given()).values["source"] == expected


def test_what_is_given_replaces_placeholders() -> None:
    several = Given("mine", "/lake", ["/a", "/b"])
    values = propose(made_facts("9.7.0"), Login("db", "u", socket="/run/my.sock"), several).values
    assert (values["source"], values["lake"], values["binlogs"]) == ("mine", "/lake", ["/a", "/b"])
    assert values["server"] == {"socket": "/run/my.sock", "user": "u"}
    assert "capture" not in values
    one = propose(made_facts("9.7.0"), LOGIN, Given(binlogs=["/logs"]))
    assert (one.values["capture"], one.values["binlogs"]) == ({"to": "/logs"}, "/logs")
    assert "binlogs" not in one.notes


def test_how_to_log_in_is_taken_over_from_a_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tls = {"mode": "verify_ca", "ca": "ca.pem"}
    server = {"host": "db", "user": "me", "password_file": "word", "tls": tls}
    given = Given.of(Settings.load(None, source="mine", server=server))
    proposed = propose(made_facts("9.7.0"), Login("db", "me"), given)
    assert proposed.values["server"] == {
        "host": "db",
        "port": 3306,
        "user": "me",
        "password_file": f"{tmp_path}/word",
        "tls": {"mode": "verify_ca", "ca": f"{tmp_path}/ca.pem"},
    }
    assert proposed.notes["server"] == ()
    assert Given.of(Settings.load(None, server="mysql://me@db")).connection == {}


def test_a_file_is_replaced_only_by_force(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "shop.yml"
    file.write_text("mine")
    with pytest.raises(SettingsError, match="--force"):
        write_settings(LOGIN, Given(), file)  # before the server is asked
    monkeypatch.setattr(settings_file, "server_facts", lambda _: made_facts("9.7.0"))
    assert file.read_text() == "mine"
    write_settings(LOGIN, Given(), file, force=True)
    assert file.read_text() != "mine"
    with pytest.raises(SettingsError, match="cannot be written"):
        write_settings(LOGIN, Given(), tmp_path / "none" / "shop.yml")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"shop\.yml exists"):
        write_settings(LOGIN, Given(), None)  # by default, named after the source


def test_a_line_to_copy_keeps_its_indentation() -> None:
    text = settings_text(["Words.", "    deep: 1"], {"source": "shop"}, {"source": ("  flat: 2",)})
    assert text.startswith("# Words.\n#     deep: 1\n\n# A name")
    assert text.endswith("#   flat: 2\nsource: shop\n")
