"""What spark-submit was given stands, but for what values rest on; what it lacks is a sentence."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.submitted import DELTA, EXTENSIONS, merged, require_delta

ZONE = "spark.sql.session.timeZone"


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, {"a": "ours", ZONE: "UTC", EXTENSIONS: DELTA}),
        ({"a": "theirs"}, {ZONE: "UTC", EXTENSIONS: DELTA}),
        ({"a": "theirs", ZONE: "Europe/Paris"}, {ZONE: "UTC", EXTENSIONS: DELTA}),
        ({EXTENSIONS: "x.Y"}, {"a": "ours", ZONE: "UTC", EXTENSIONS: f"x.Y,{DELTA}"}),
        ({EXTENSIONS: f"{DELTA},x.Y"}, {"a": "ours", ZONE: "UTC"}),
    ],
    ids=["nothing", "a setting", "a zone", "an extension", "Delta among extensions"],
)
def test_what_is_added_to_what_was_given(given: dict[str, str], added: dict[str, str]) -> None:
    ours = {"a": "ours", ZONE: "UTC", EXTENSIONS: DELTA}
    assert merged(ours, {ZONE: "UTC"}, given) == added


def test_a_spark_without_delta_is_told_what_to_submit_with(spark: SparkSession) -> None:
    require_delta(spark)
    with pytest.raises(MissingRequirementError, match=r"--packages io\.delta:delta-spark_4"):
        require_delta(spark, "io.delta.sql.NoSuchExtension")
