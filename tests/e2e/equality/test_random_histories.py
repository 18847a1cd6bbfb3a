"""Random histories of a real server: however they are applied, gold equals SELECT.

A failure's message shows how to reproduce it; `make soak-histories` runs hundreds more.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.history.model import Feature
from tests.support.history.trial import Trial, attempt
from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer
from tests.support.servers.mysql import MySQLServer

SMALL_FILES = {"max_binlog_size": 4096}
MINIMAL = {"binlog_row_metadata": "MINIMAL", "binlog_row_image": "MINIMAL"}
TRIALS = {
    "at once": Trial(1, histories=8, length=12, gold="many"),
    "killed": Trial(2, "killed", 4, 8, variables=SMALL_FILES, gold="large", engine="spark"),
    "twice": Trial(3, "twice", 6, 10, variables={**SMALL_FILES, **MINIMAL}),
    "held": Trial(4, histories=6, length=12, features=frozenset(Feature), gold="unfit"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TRIALS)
def test_random_histories_on_mysql(spark: SparkSession, mysql: MySQLServer, name: str) -> None:
    trial = TRIALS[name]
    print(trial)
    assert attempt(spark, mysql, trial).equal >= trial.histories


def test_random_histories_on_mariadb(spark: SparkSession, mariadb: MariaDBServer) -> None:
    """With MariaDB's default row metadata, which is none."""
    variables = {"binlog_row_metadata": "NO_LOG"}
    trial = Trial(5, "in portions", histories=6, length=10, variables=variables)
    print(trial)
    assert attempt(spark, mariadb, trial).equal >= trial.histories


@pytest.mark.long
@pytest.mark.parametrize("metadata", ["NO_LOG", "MINIMAL", "FULL"])
def test_random_histories_on_the_newest_mariadb(
    spark: SparkSession, newest_mariadb: NewestMariaDBServer, metadata: str
) -> None:
    trial = Trial(6, histories=6, length=12, variables={"binlog_row_metadata": metadata})
    print(trial)
    assert attempt(spark, newest_mariadb, trial).equal >= trial.histories
