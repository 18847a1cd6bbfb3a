"""A session submitted without Delta is refused with the option to add."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import MissingRequirementError
from pipeline.spark.spark_submit import require_delta


def test_a_spark_without_delta_is_an_error_with_the_option_to_add(spark: SparkSession) -> None:
    require_delta(spark)
    with pytest.raises(MissingRequirementError, match=r"--packages io\.delta:delta-spark_4"):
        require_delta(spark, "io.delta.sql.NoSuchExtension")
