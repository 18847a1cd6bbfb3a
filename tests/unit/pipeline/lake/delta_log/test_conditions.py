"""Files whose statistics exclude a condition are not read."""

from __future__ import annotations

import pytest

from pipeline.lake.delta_log import delta_rs
from pipeline.lake.delta_log.conditions import among, compare
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.table_scan import scan
from pipeline.lake.tables.native import NativeTables
from tests.support.lake.condition_rows import native_table


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> tuple[NativeTables, LakeTable]:
    return native_table(str(tmp_path_factory.mktemp("lake")))


def test_the_files_that_statistics_exclude_are_not_read(
    native: tuple[NativeTables, LakeTable],
) -> None:
    _, table = native
    opened = delta_rs.opened(table.reference, {})
    assert opened is not None
    files = scan(table, opened, {})
    for where in (among("n", [1 << 40]), compare("n", "<", 0), among("a `b`", ["none"])):
        assert len(list(files.files(where))) < len(files.entries)
