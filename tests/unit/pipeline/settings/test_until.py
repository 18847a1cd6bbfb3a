"""The forms of the `until` setting."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.settings import Settings
from pipeline.settings.until import Until

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
TEN = datetime(2026, 11, 22, 10, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-11-22T10:00:00Z", {"time": TEN}),
        ("2026-11-22 10:00:00", {"time": TEN}),
        (
            "2026-11-22T10:00:00+02:00",
            {"time": TEN.replace(tzinfo=timezone(timedelta(hours=2)))},
        ),
        ("2026-11-22", {"time": TEN.replace(hour=0)}),
        (f"{UUID.upper()}:17", {"gtid": f"{UUID}:17"}),
        (f"{UUID}:tag:17", {"gtid": f"{UUID}:tag:17"}),
        ("0-1-17", {"gtid": "0-1-17"}),
        ("binlog.000042:1234", {"place": ("binlog.000042", 1234)}),
        (" 46179488366592 ", {"lsn": 46179488366592}),
    ],
)
def test_each_form_is_recognized(text: str, read: dict[str, object]) -> None:
    assert Until.read(text) == Until(text.strip(), **read)


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-13-01", f"{UUID}:1-5", "binlog:4", "binlog.000042", "-1"]
)
def test_anything_else_is_a_mistake_in_the_settings(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load(None, until=text)
    assert (caught.value.key, caught.value.exit_code) == ("until", 2)


@pytest.mark.parametrize(
    ("yaml", "text"),
    [
        ("2026-11-22T10:00:00Z", "2026-11-22T10:00:00+00:00"),
        ("2026-11-22", "2026-11-22"),
        ("46179488366592", "46179488366592"),
        ("0-1-17", "0-1-17"),
        ("null", None),
    ],
)
def test_values_that_yaml_reads_as_other_types_become_text(
    tmp_path: Path, yaml: str, text: str | None
) -> None:
    file = tmp_path / "conf.yml"
    file.write_text(f"until: {yaml}\n")
    assert Settings.load(file).until == text
