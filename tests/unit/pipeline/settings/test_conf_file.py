"""Environment variables and `~` in settings: how they are replaced, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.observe import redact
from pipeline.settings import Settings


def written(folder: Path, text: str) -> Path:
    file = folder / "conf.yml"
    file.write_text(text)
    return file


def test_environment_variables_are_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKE", "/data")
    monkeypatch.setenv("PORT", "3307")
    monkeypatch.setenv("EMPTY", "")
    monkeypatch.delenv("NOT_SET", raising=False)
    text = """\
lake: ${LAKE}/x
catalog: "${NOT_SET:-}"
binlogs: ['${LAKE}/a', "${EMPTY:-/b}/${NOT_SET:-c d}"]
server: {port: "${PORT}", user: $LAKE}
drift: ${NOT_SET:-false}
lower_case_table_names: ${NOT_SET:-1}
retention: {silver: "${NOT_SET:-30d}"}
spark: {conf: {a: "$${LAKE} $$ ${LAKE}"}}
airflow: {submit: "${NOT_SET} {{ ds }}"}
"""
    settings = Settings.load(written(tmp_path, text))
    assert (settings.lake, settings.catalog) == ("/data/x", None)
    assert settings.binlogs == ("/data/a", "/b/c d")
    assert (settings.server.port, settings.server.user) == (3307, "$LAKE")
    assert (settings.drift, settings.lower_case_table_names) == (False, 1)
    assert settings.retention.silver == timedelta(days=30)
    assert settings.spark.conf == {"a": "${LAKE} $$ /data"}
    assert settings.airflow == {"submit": "${NOT_SET} {{ ds }}"}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${NOT_SET}/x", "conf.yml:2: lake: uses the environment variable NOT_SET, which is not"),
        ("${NOT_SET}/x", "Set NOT_SET, or write ${NOT_SET:-…} with a default."),
        ("${1x}", "lake: has a ${ that does not begin a variable. ${NAME} and"),
        ("a${", "lake: has a ${ that does not begin a variable."),
        ("${NOT_SET:+x}", "lake: has a ${ that does not begin a variable."),
    ],
)
def test_a_variable_that_is_not_set_is_reported_with_its_line(
    tmp_path: Path, value: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, f"source: a\nlake: '{value}'"))
    assert message in str(caught.value)


def test_secrets_that_come_from_variables_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN", "opensesame1")
    text = """\
spark:
  conf: {fs.s3a.secret.key: "${PLAIN}", fs.other: "${MY_PASSWORD:-opensesame2}", x: []}
"""
    with pytest.raises(SettingsError):
        Settings.load(written(tmp_path, text))
    assert redact("with opensesame1 and opensesame2") == "with *** and ***"


@pytest.mark.parametrize(
    ("given", "made"),
    [("~/lake", "/home/me/lake"), ("/~/lake", "/~/lake"), ("s3a://lake/~", "s3a://lake/~")],
)
def test_a_tilde_is_expanded_in_every_path(
    given: str, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    tls = dict.fromkeys(("ca", "cert", "key"), given)
    settings = Settings.load(
        lake=given,
        binlogs=[given, "/b"],
        definitions=given,
        encryption={"keyring": given},
        capture={"to": given, "spool": given},
        seed={"dump": given, "create": given},
        server={"socket": given, "password_file": given, "tls": {"mode": "verify_ca", **tls}},
    )
    paths = [settings.layout.root, settings.binlogs[0], settings.definitions]
    paths += [settings.encryption.keyring, settings.capture.to, settings.capture.spool]
    paths += [settings.seed.dump, settings.seed.create]
    paths += [settings.server.socket, settings.server.password_file]
    paths += [settings.server.tls.ca, settings.server.tls.cert, settings.server.tls.key]
    assert paths == [made] * len(paths)
    assert Settings.load(binlogs=given).binlogs == made
    assert Settings.load().with_section("capture", to=given).capture.to == made


@pytest.mark.parametrize(
    ("given", "root"),
    [
        ("lake", "/here/lake"),
        ("../lake", "/lake"),
        ("./lake/", "/here/lake"),
        ("/lake", "/lake"),
        ("s3a://bucket/lake", "s3a://bucket/lake"),
        ("file:/lake", "file:/lake"),
        ("", ""),
    ],
)
def test_a_relative_lake_is_in_the_current_folder(
    given: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.getcwd", lambda: "/here")
    assert Settings.load(lake=given).layout.root == root
