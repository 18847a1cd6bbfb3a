"""Settings: how they are read, and the messages for mistakes."""

from __future__ import annotations

import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from decoder import TypeOptions
from pipeline.errors import InvalidSettingsError, SettingsError
from pipeline.settings import Settings
from pipeline.settings.settings import MIB

EXAMPLE = Path(__file__).parents[4] / "conf" / "binlake.yml"


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
        ("30d", timedelta(days=30)),
        ("12h", timedelta(hours=12)),
        ("90m", timedelta(minutes=90)),
        ("90 minutes", timedelta(minutes=90)),
        ("5s", timedelta(seconds=5)),
        ("1W", timedelta(weeks=1)),
        ("0 days", timedelta(0)),
        ("forever", None),
    ],
)
def test_durations_are_read_as_people_write_them(text: str, read: timedelta | None) -> None:
    assert Settings.load(retention={"silver": text}).retention.silver == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("segmnts: {}", "conf.yml:1: segmnts: is not a setting. Did you mean segments?"),
        (
            "lake: x\nsegments:\n  limit: 20 MiB\n  targt: 1 MiB",
            "conf.yml:4: segments.targt: is not a setting. Did you mean segments.target?",
        ),
        (
            "types: {qqq: 1}",
            "types.qqq: is not a setting. Valid keys are: types.time, types.zero_dates.",
        ),
        (
            "types:\n  time: hours",
            "conf.yml:2: types.time: expects text or micros (given: 'hours').",
        ),
        (
            "segments: {target: 10 apples}",
            "segments.target: expects a size in bytes, such as 16 MiB (given: '10",
        ),
        ("segments: {target: 65 MiB}", "segments: target must be at least one byte and not more"),
        (
            "parallel_tables: 0",
            "parallel_tables: expects a whole number from 1 to 64, such as 8 (given: 0)",
        ),
        (
            "keep_runs: 0",
            "conf.yml:1: keep_runs: expects a whole number from 1 to 36500, such as 90",
        ),
        ("engine: threads", "conf.yml:1: engine: expects auto, spark or local (given: 'threads')."),
        ("log: xml", "conf.yml:1: log: expects text or json (given: 'xml')."),
        ("source: a b", "conf.yml:1: source: expects a name of letters, digits, - _ and . that"),
        ("include: [shop.*, orders]", "include.1: 'orders' is not a pattern over schema.table"),
        ("keys: {orders: [id]}", "conf.yml:1: keys.orders: 'orders' is not a pattern"),
        ("gold: {readers: slow}", "conf.yml:1: gold.readers: expects fast or any (given: 'slow')"),
        ("gold: {cluster_by: {s.t: [a, b, a]}}", "gold.cluster_by.s.t: a is named twice"),
        ("gold: {cluster_by: {s.t: []}}", "gold.cluster_by.s.t: expects a list of one to four"),
        ("gold: {cluster_by: {s.t: [a, b, c, d, e]}}", "expects a list of one to four columns"),
        ("retention: {bronze: no}", "retention.bronze: false is not a duration, such as 7 days"),
        ("retention: {bronze: 90}", "retention.bronze: 90 is not a duration, such as 7 days"),
        ("retention: {silver: -3 days}", "retention.silver: '-3 days' is not a duration"),
        ("retention: {silver: 99999999999 weeks}", "retention.silver: '99999999999 weeks' is not"),
        (
            "retention: {cuts: a while}",
            "retention.cuts: 'a while' is not a duration, such as 7 days",
        ),
        (
            "retention: {cuts: forever}",
            "retention.cuts: expects a duration, such as 7 days, 36 hours",
        ),
        (
            "retention: {rows: 1 day}",
            "Valid keys are: retention.cuts, retention.silver, retention.",
        ),
        ("lake: x\nlake: y", "conf.yml:2: lake: is given twice, first on line 1."),
        ("- a\n- b", "conf.yml:1: contains no settings: keys with values are expected, such as"),
        ("lake: [", "conf.yml:1: is not YAML: "),
        ("lake: 2026-02-30", "conf.yml: is not YAML: day"),
        (
            "include: shop.*",
            "include: expects a list of patterns over schema.table, such as [shop.*, crm.",
        ),
        (
            "keys:\n  shop.a: id",
            "conf.yml:2: keys.shop.a: expects a list of columns, such as [source, number]",
        ),
        ("keys: [id]", "keys: expects for each table a list of the columns of its key, such as {"),
        ("include: shop.*", "or [\"*.orders\"] (given: 'shop.*')."),
        ("given_up: 4", "given_up: expects a list of file numbers, such as [42] (given: 4)."),
        ("binlogs: {a: b}", "binlogs: expects a path, glob or URL, or a list of them, such as"),
        ("include:\n - a.b\n - [x]", "conf.yml:3: include.1: expects a pattern over schema.table"),
        ("sources:\n  - shop", "sources: is not a setting. A settings file has one source: write"),
        ("target: 16 MiB", "conf.yml:1: target: is not a setting. Did you mean segments.target?"),
        ("Parallel-Tables: 3", "is not a setting. Did you mean parallel_tables?"),
        ("server: {password: a}", "server.password: is not a setting. Settings files must not"),
        ("1: x", "conf.yml:1: 1: is not a setting. Valid keys are: source, server,"),
        ("segments:\n- target: 1", "conf.yml:1: segments: expects keys with values (target, limit"),
        ("server:", "conf.yml:1: server: expects keys with values (url, host, port,"),
        ("server: {tls: x}", "server.tls: expects keys with values (mode, ca, cert, key)."),
        ("capture: {retry: {tries: many}}", "capture.retry.tries: expects a whole number (1 or"),
        (
            "seed: {at: here}",
            "seed.at: expects FILE:POSITION, a position in the log, such as binlog.",
        ),
        ("drift: maybe", "drift: expects true or false or full (given: 'maybe')."),
        ("drift: 2", "drift: expects true or false or full (given: 2)."),
        ("lower_case_table_names: 5", "expects 0, 1 or 2 (given: 5)."),
        ("spark: {conf: {a: [b]}}", "spark.conf.a: expects text, a number, true or false, such as"),
        ("source: true", "conf.yml:1: source: expects a name of letters, digits, - _ and . that"),
        ("server:\n\tport: 3", "conf.yml:2: is not YAML: while scanning for the next token found"),
        ("server:\n\tport: 3", "Indent with spaces: YAML does not allow tabs."),
        ("include: [*.*]", "Quote values that begin with a special character (*, &, !, %, @)."),
        (
            "lake: a: b",
            "conf.yml:1: is not YAML: mapping values are not allowed here. Quote values",
        ),
        ("server:\n  host: a\n port: 3", "conf.yml:3: is not YAML: "),
        ("server:\n  host: a\n port: 3", "Begin all keys of a section in the same column."),
        ("lake", "conf.yml:1: contains no settings: keys with values are expected, such as lake:"),
        ("airflow: &x\n  a: [*x]", "conf.yml:1: is not a settings file: a value contains itself."),
        ("airflow: " + "[" * 2000, "conf.yml: is not YAML: it is nested too deeply."),
        ("server: {port: 1, port: 2}", "conf.yml:1: server.port: is given twice, first on line 1."),
    ],
)
def test_a_mistake_in_a_file_is_reported_with_key_line_and_suggestion(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, text))
    assert message in str(caught.value)
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
def test_a_mistake_in_a_secret_is_reported_without_it(tmp_path: Path, encryption: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(written(tmp_path, f"encryption: {encryption}"))
    message = "".join(traceback.format_exception(caught.value))
    assert "conf.yml:1: encryption." in message
    assert "SECRET" not in message


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


def test_a_missing_file_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"no/such\.yml: cannot be read: No such file"):
        Settings.load(Path("no/such.yml"))


def test_an_empty_file_gives_the_defaults(tmp_path: Path) -> None:
    assert Settings.load(written(tmp_path, "# nothing\n")) == Settings()


def test_a_missing_setting_is_reported_with_its_option() -> None:
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


def test_an_invalid_secret_is_not_quoted(tmp_path: Path) -> None:
    conf = tmp_path / "conf.yml"
    conf.write_text("spark:\n  conf:\n    spark.hadoop.fs.s3a.secret.key: [987654321]\n")
    with pytest.raises(SettingsError, match=r"secret\.key: expects text") as error:
        Settings.load(conf)
    assert "987654321" not in str(error.value)
    conf.write_text("spark:\n  conf: fs.s3a.secret.key=abcdefg\n")
    with pytest.raises(SettingsError, match=r"\(given: 'fs.s3a.secret.key=\*\*\*'\)"):
        Settings.load(conf)
    conf.write_text("keep_runs: 1000000\n")
    with pytest.raises(SettingsError, match="36500"):
        Settings.load(conf)


@pytest.mark.parametrize("value", ["!!int opensesame", "!!bool opensesame", "!opensesame x"])
def test_a_value_that_does_not_match_its_tag_is_not_quoted(tmp_path: Path, value: str) -> None:
    with pytest.raises(SettingsError, match="is not YAML: ") as error:
        Settings.load(written(tmp_path, f"lake: {value}"))
    assert "opensesame" not in "".join(traceback.format_exception(error.value))


@pytest.mark.parametrize("sign", ["*", "!"])
def test_a_password_that_is_not_valid_yaml_is_not_quoted(tmp_path: Path, sign: str) -> None:
    text = f"spark:\n  conf:\n    fs.s3a.secret.key: {sign}opensesame\n"
    with pytest.raises(SettingsError, match=r"conf\.yml:3: is not YAML: ") as error:
        Settings.load(written(tmp_path, text))
    assert "opensesame" not in str(error.value)


def test_all_mistakes_of_a_file_are_reported_in_order_of_their_lines(
    tmp_path: Path,
) -> None:
    text = """\
include: shop.*
segmnts: {}
retention:
  silver: 30 days
lake: ${NOT_SET_ANYWHERE}/x
spark:
  conf: {a: []}
server:
  prot: 3306
retention: {}
"""
    with pytest.raises(InvalidSettingsError) as caught:
        Settings.load(written(tmp_path, text), source="a b", server="mysql://me@host")
    error = caught.value
    assert error.exit_code == 2
    assert [
        (mistake.key, (mistake.file or "").rpartition(":")[2]) for mistake in error.mistakes
    ] == [
        ("source", ""),
        ("include", "1"),
        ("segmnts", "2"),
        ("lake", "5"),
        ("spark.conf.a", "7"),
        ("server.prot", "9"),
        ("retention", "10"),
    ]
    assert all(str(mistake) in str(error) for mistake in error.mistakes)
    assert "conf.yml: 7 settings are wrong:\n  source: expects a name" in str(error)


def test_numbers_keep_their_original_text_where_text_is_expected(tmp_path: Path) -> None:
    text = """\
source: 2024
system_time_zone: +02:00
keys: {shop.a: [1, b]}
server: {user: 0123}
spark:
  conf:
    spark.sql.shuffle.partitions: 200
    spark.memory.fraction: 0.60
    spark.speculation: true
    spark.off: no
    spark.secret.key: 00123
"""
    settings = Settings.load(written(tmp_path, text))
    assert (settings.source, settings.system_time_zone) == ("2024", "+02:00")
    assert (settings.keys, settings.server.user) == ({"shop.a": ("1", "b")}, "0123")
    assert settings.spark.conf == {
        "spark.sql.shuffle.partitions": "200",
        "spark.memory.fraction": "0.60",
        "spark.speculation": "true",
        "spark.off": "false",
        "spark.secret.key": "00123",
    }
    given = Settings.load(spark={"conf": {"a": 200, "b": True, "c": 0.5}})
    assert given.spark.conf == {"a": "200", "b": "true", "c": "0.5"}
