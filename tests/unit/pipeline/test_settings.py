"""Settings: what is read, and what a mistake is told."""

from __future__ import annotations

import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from decoder.options import TypeOptions
from pipeline.errors import SettingsError
from pipeline.settings import MIB, Settings

EXAMPLE = Path(__file__).parents[3] / "conf" / "binlake.yml"


def written(folder: Path, text: str) -> Path:
    file = folder / "conf.yml"
    file.write_text(text)
    return file


def test_the_example_shows_every_setting_with_its_default() -> None:
    assert Settings.load(EXAMPLE) == Settings.load()
    text = EXAMPLE.read_text()
    assert [key for key in Settings.model_fields if f"\n{key}:" not in text] == []


def test_a_file_is_read_and_the_command_line_wins(tmp_path: Path) -> None:
    file = written(tmp_path, "source: a\nlake: /lake\nsegments: {target: 1 MiB, limit: 2097152}\n")
    settings = Settings.load(file, source="b", binlogs="/logs", lake=None)
    assert (settings.source, settings.binlogs, settings.lake) == ("b", "/logs", "/lake")
    assert (settings.segments.target, settings.segments.limit) == (MIB, 2 * MIB)


@pytest.mark.parametrize(
    ("text", "size"),
    [("2g", 2048), ("1500m", 1500), ("2 GiB", 2048), ("512MiB", 512), ("1048576", 1)],
)
def test_memory_is_read_as_java_and_as_people_write_it(text: str, size: int) -> None:
    assert Settings.load(spark={"driver_memory": text}).spark.driver_memory == size * MIB


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("36 hours", timedelta(hours=36)),
        ("1 day", timedelta(days=1)),
        (" 2 Weeks", timedelta(weeks=2)),
        ("0 days", timedelta(0)),
        ("forever", None),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, read: timedelta | None) -> None:
    assert Settings.load(retention={"silver": text}).retention.silver == read


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("segmnts: {}", "conf.yml:1: segmnts: is not a setting. Did you mean segments?"),
        (
            "lake: x\nsegments:\n  limit: 20 MiB\n  targt: 1 MiB",
            "conf.yml:4: segments.targt: is not a setting. Did you mean segments.target?",
        ),
        (
            "types: {qqq: 1}",
            "conf.yml:1: types.qqq: is not a setting. There are: types.time, types.zero_dates.",
        ),
        ("types:\n  time: hours", "conf.yml:2: types.time: Input should be 'text' or 'micros'"),
        ("segments: {target: 10 apples}", "conf.yml:1: segments.target: "),
        ("segments: {target: 65 MiB}", "segments: target must be at least one byte and not more"),
        ("parallel_tables: 0", "conf.yml:1: parallel_tables: "),
        ("keep_runs: 0", "conf.yml:1: keep_runs: "),
        ("log: xml", "conf.yml:1: log: Input should be 'text' or 'json'"),
        ("source: a b", "conf.yml:1: source: String should match"),
        ("include: [shop.*, orders]", "include.1: 'orders' is not a pattern over schema.table"),
        ("keys: {orders: [id]}", "conf.yml:1: keys.orders: 'orders' is not a pattern"),
        ("retention: {bronze: no}", "retention.bronze: False is no duration, such as 7 days"),
        ("retention: {bronze: 90}", "retention.bronze: 90 is no duration, such as 7 days"),
        ("retention: {silver: -3 days}", "retention.silver: '-3 days' is no duration"),
        ("retention: {silver: 99999999999 weeks}", "retention.silver: '99999999999 weeks' is no"),
        ("retention: {cuts: a while}", "retention.cuts: 'a while' is no duration, such as 7 days"),
        ("retention: {cuts: forever}", "conf.yml:1: retention.cuts: "),
        ("retention: {gold: 1 day}", "There are: retention.cuts, retention.silver, retention."),
        ("lake: x\nlake: y", "conf.yml:2: lake: is given twice, first on line 1."),
        ("- a\n- b", "conf.yml: holds no settings"),
        ("lake: [", "conf.yml: is not YAML: "),
        ("lake: 2026-02-30", "conf.yml: is not YAML: day"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_key_line_and_what_was_meant(
    tmp_path: Path, text: str, told: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, text))
    assert told in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "encryption",
    [
        "{passwords: {binlog.000001: SECRET}}",
        "{passwords: {binlog.000001: [SECRET]}}",
        "{passwords: SECRET}",
        "{passwords: {binlog.000001: '" + "SECRET" * 11 + "'}}",
        "{keyring: [SECRET]}",
    ],
)
def test_a_mistake_in_a_secret_is_told_without_it(tmp_path: Path, encryption: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, f"encryption: {encryption}"))
    told = "".join(traceback.format_exception(caught.value))
    assert "conf.yml:1: encryption." in told
    assert "SECRET" not in told


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    secret = "0123abcd" * 8
    text = f"encryption: {{passwords: {{binlog.000001: '{secret}'}}}}"
    settings = Settings.load(written(tmp_path, text))
    again = settings.with_decoding(settings.decoding)
    assert again.encryption.passwords["binlog.000001"].get_secret_value() == secret
    for shown in (repr(settings), str(settings), settings.model_dump_json(), settings.decoding):
        assert secret not in str(shown)


def test_a_mistake_on_the_command_line_names_no_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, "lake: x"), source="a b")
    assert caught.value.file is None
    assert caught.value.key == "source"


def test_a_file_that_is_not_there_is_told() -> None:
    with pytest.raises(SettingsError, match=r"no/such\.yml: cannot be read: No such file"):
        Settings.load(Path("no/such.yml"))


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert Settings.load(written(tmp_path, "# nothing\n")) == Settings()


def test_what_a_command_needs_is_asked_for_by_its_option() -> None:
    settings = Settings.load(lake="/lake")
    assert settings.require("lake") is settings
    with pytest.raises(SettingsError, match=r"binlogs: is not set\. Give --binlogs"):
        settings.require("lake", "binlogs")


@pytest.mark.parametrize(
    ("rules", "wanted", "unwanted"),
    [
        ({}, ["shop.orders", "a.b.c"], ["mysql.user", "SYS.x", "information_schema.t"]),
        ({"include": ["shop.*"]}, ["shop.a"], ["shopping.a", "Shop.a"]),
        ({"exclude": ["*.tmp_*"]}, ["shop.tmp"], ["shop.tmp_1"]),
        ({"include": ["shop.*"], "exclude": ["shop.b"]}, ["shop.a"], ["shop.b"]),
        ({"include": ["*.*"]}, ["shop.a"], ["mysql.user"]),
        ({"include": ["mysql.user", "shop.*"]}, ["mysql.user", "shop.a"], ["mysql.db"]),
        ({"include": ["s?.[ab]*"]}, ["s1.a", "s2.bcd"], ["s.a", "s1.c"]),
    ],
)
def test_tables_are_chosen_by_patterns(
    rules: dict[str, Any], wanted: list[str], unwanted: list[str]
) -> None:
    settings = Settings.load(**rules)
    names = [*wanted, *unwanted]
    assert [name for name in names if settings.wanted(*name.split(".", 1))] == wanted


def test_the_decoder_gets_its_type_options() -> None:
    settings = Settings.load(types={"time": "micros", "zero_dates": "string"})
    assert settings.type_options == TypeOptions(time="micros", zero_dates="string")


def test_what_is_wrong_with_a_secret_is_told_without_it(tmp_path: Path) -> None:
    conf = tmp_path / "conf.yml"
    conf.write_text("spark:\n  conf:\n    spark.hadoop.fs.s3a.secret.key: 987654321\n")
    with pytest.raises(SettingsError, match=r"secret\.key: Input should be") as error:
        Settings.load(conf)
    assert "987654321" not in str(error.value)
    conf.write_text("spark:\n  conf: fs.s3a.secret.key=abcdefg\n")
    with pytest.raises(SettingsError, match=r"\(given: 'fs.s3a.secret.key=\*\*\*'\)"):
        Settings.load(conf)
    conf.write_text("keep_runs: 1000000\n")
    with pytest.raises(SettingsError, match="36500"):
        Settings.load(conf)


@pytest.mark.parametrize("sign", ["*", "!"])
def test_a_password_that_yaml_takes_for_something_else_is_not_told(
    tmp_path: Path, sign: str
) -> None:
    text = f"spark:\n  conf:\n    fs.s3a.secret.key: {sign}opensesame\n"
    with pytest.raises(SettingsError, match=r"is not YAML: .*line 3") as error:
        Settings.load(written(tmp_path, text))
    assert "opensesame" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "lake"),
    [("~/lake", "/home/me/lake"), ("/~/lake", "/~/lake"), ("s3a://lake/~", "s3a://lake/~")],
)
def test_a_lake_at_home_is_at_one_place_for_python_and_for_spark(
    given: str, lake: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert Settings(lake=given).layout.root == lake
