"""The functions' arguments: settings, a file of them, a lake's folder, and keyword options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from binlake.arguments import Options, settings_from
from pipeline.errors import SettingsError
from pipeline.settings import Settings


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    file = tmp_path / "shop.yml"
    file.write_text(
        "source: shop\nlake: /of/the/file\nserver: {url: mysql://a@one, connect_timeout: 7}\n"
    )
    return file


def test_every_setting_is_an_option() -> None:
    assert Options.__annotations__.keys() == Settings.model_fields.keys()


def test_options_win_over_a_file(conf: Path) -> None:
    found = settings_from(conf, {"lake": Path("/data/lake"), "binlogs": [Path("/a"), "/b"]})
    assert (found.source, found.lake, found.binlogs) == ("shop", "/data/lake", ("/a", "/b"))
    assert settings_from(str(conf), {}).lake == "/of/the/file"


def test_options_win_over_settings_and_the_rest_stays(conf: Path) -> None:
    given = Settings.load(conf, retention={"silver": "forever"}, lake="/of/the/file")
    found = settings_from(given, {"lake": "/data/lake", "server": "mysql://b@two"})
    assert (found.lake, found.source, found.server.url) == ("/data/lake", "shop", "mysql://b@two")
    assert found.server.model_copy(update={"url": given.server.url}) == given.server
    assert found.retention == given.retention
    assert found.model_fields_set == given.model_fields_set
    assert settings_from(given, {}) is given


@pytest.mark.parametrize("folder", ["/data/lake", Path("/data/lake"), "s3://bucket/lake"])
def test_what_is_no_settings_file_is_a_lake(folder: str | Path) -> None:
    assert settings_from(folder, {"source": "shop"}).lake == str(folder)
    assert "source" not in settings_from(folder, {"source": None}).model_fields_set


def test_mistakes_are_the_command_lines(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="given twice: /a and /b"):
        settings_from("/a", {"lake": "/b"})
    with pytest.raises(SettingsError, match="cannot be read"):
        settings_from(tmp_path / "none.yml", {})
    with pytest.raises(SettingsError) as unknown:
        settings_from(None, {"sauce": "shop"})
    assert unknown.value.key == "sauce"
    with pytest.raises(SettingsError, match="color"):
        settings_from(Settings(), {"types": {"color": "red"}})


def test_secrets_of_settings_are_in_no_log() -> None:
    from pipeline.observe import redact

    secret = "fedcba98" * 8
    settings_from(None, {"encryption": {"passwords": {"log.000001": secret}}})
    assert json.dumps(redact(f"with {secret}")) == '"with ***"'
