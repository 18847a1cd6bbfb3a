"""Histories come again from their seeds, hold what their features say, and shrink to what fails."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.support.history.generate import generate, mixed
from tests.support.history.model import APPLIED, HELD, Feature, Step
from tests.support.history.shrink import as_sql, shrink

SHOWN_BY = {
    Feature.DEFINITIONS: "CREATE TABLE .* AS SELECT",
    Feature.TRANSACTIONS: "ROLLBACK TO",
    Feature.SESSIONS: "SET SESSION time_zone",
    Feature.NOISE: "CREATE USER|CREATE VIEW|CREATE FUNCTION|CREATE INDEX|ANALYZE|FLUSH|never there",
    Feature.TEMPORARY: "CREATE TEMPORARY",
    Feature.XA: "XA PREPARE",
    Feature.KEYLESS: r"CREATE TABLE ((?!PRIMARY KEY|UNIQUE|LIKE|AS SELECT|IF NOT EXISTS).)*$",
    Feature.KEYS: "DROP PRIMARY KEY|DROP INDEX `u`|UNIQUE KEY `u`",
    Feature.IMAGES: "binlog_row_image",
    Feature.DEFAULTS: r"INSERT IGNORE INTO .* \(`k0`\) VALUES",
    Feature.SCHEMA_CHANGES: "MODIFY COLUMN",
    Feature.RENAMES: "RENAME TABLE",
    Feature.UNCERTAIN: "STORED$",
    Feature.FOREIGN_KEYS: "REFERENCES",
    Feature.STATEMENTS: "binlog_format = STATEMENT",
}


def texts(features: frozenset[Feature]) -> list[str]:
    return [step.sql for seed in range(16) for step in generate(seed, features, length=80)]


@pytest.mark.parametrize("feature", Feature)
def test_a_feature_shows_and_shows_only_where_it_is_asked_for(feature: Feature) -> None:
    pattern = re.compile(SHOWN_BY[feature])
    assert any(pattern.search(sql) for sql in texts(frozenset(Feature)))
    assert not any(pattern.search(sql) for sql in texts(frozenset(Feature) - {feature}))


def test_the_same_seed_gives_the_same_history() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_only_features_that_gold_does_not_apply_allow_a_table_to_be_held() -> None:
    assert not any(step.features for step in generate(3, APPLIED, length=200))
    allowed = {
        f for seed in range(32) for s in generate(seed, frozenset(Feature)) for f in s.features
    }
    assert allowed == set(HELD)


def test_every_transaction_ends() -> None:
    for seed in range(20):
        steps = generate(seed, frozenset(Feature), length=100)
        assert {s.sql for s in steps if s.sql.startswith("XA PREPARE")} <= {
            s.sql.replace("XA COMMIT", "XA PREPARE").replace("XA ROLLBACK", "XA PREPARE")
            for s in steps
        }


def test_mixing_keeps_the_order_of_each_history() -> None:
    one, other = (generate(n, schema=f"h{n}", length=20) for n in (1, 2))
    steps = mixed([one, other], seed=1)
    assert [s for s in steps if s.session.startswith("h1")] == one
    assert [s for s in steps if s.session.startswith("h2")] == other
    assert steps != [*one, *other]


def test_shrinking_leaves_the_steps_that_fail_together() -> None:
    steps = [Step("s", str(n)) for n in range(50)]

    def fails(left: Sequence[Step]) -> bool:
        return {"7", "31"} <= {step.sql for step in left}

    assert as_sql(shrink(steps, fails)) == "/* s */ 7;\n/* s */ 31;"


def test_shrinking_asks_no_more_often_than_it_may() -> None:
    asked: list[int] = []

    def fails(left: Sequence[Step]) -> bool:
        asked.append(len(left))
        return True

    shrink([Step("s", str(n)) for n in range(50)], fails, tries=3)
    assert len(asked) == 3
