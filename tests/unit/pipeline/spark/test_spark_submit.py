"""Settings given to spark-submit take precedence, except those that values depend on."""

from __future__ import annotations

import pytest

from pipeline.spark.spark_submit import DELTA, EXTENSIONS, NAME, merged

ZONE = "spark.sql.session.timeZone"


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, {"a": "ours", ZONE: "UTC", EXTENSIONS: DELTA}),
        ({"a": "theirs"}, {ZONE: "UTC", EXTENSIONS: DELTA}),
        ({"a": "theirs", ZONE: "Europe/Paris"}, {ZONE: "UTC", EXTENSIONS: DELTA}),
        ({EXTENSIONS: "x.Y"}, {"a": "ours", ZONE: "UTC", EXTENSIONS: f"x.Y,{DELTA}"}),
        ({EXTENSIONS: f"{DELTA},x.Y", "a": "theirs"}, {ZONE: "UTC"}),
        ({NAME: "job.py", "a": "theirs"}, {ZONE: "UTC", EXTENSIONS: DELTA}),
        ({NAME: "nightly", "a": "theirs"}, {NAME: "nightly", ZONE: "UTC", EXTENSIONS: DELTA}),
    ],
    ids=["nothing", "a setting", "a zone", "extensions", "Delta", "the file's name", "a name"],
)
def test_settings_that_are_added_to_the_given_ones(
    given: dict[str, str], added: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/opt/pipeline/bronze/job.py", "--source", "shop"])
    ours = {"a": "ours", ZONE: "UTC", EXTENSIONS: DELTA}
    assert merged(ours, {ZONE: "UTC"}, given) == added
