"""Tables older than the log, on older servers: seeded under a writer, replicated, verified."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.verify.run import verify_with_server
from tests.integration.seed.test_seed import (
    SCHEMA,
    begun_without_history,
    seeded,
    settings_of,
    written,
)
from tests.support.lake.run_layers import run_layers
from tests.support.servers.older_servers import (
    KINDS,
    MariaDB102Server,
    MariaDB105Server,
    MariaDB114Server,
    MySQL56Server,
    running,
)
from tests.support.servers.server import Server

pytestmark = pytest.mark.long

DOCUMENTS = f"""
    USE {SCHEMA};
    CREATE TABLE docs (id INT PRIMARY KEY, j JSON);
    INSERT INTO docs VALUES (1, '[1.0, 2, -0.0, 1e22]'), (2, NULL),
        (3, JSON_ARRAY(REPEAT(x'ff00', 90)))
"""
LATER = f"INSERT INTO {SCHEMA}.docs SELECT id + 10, j FROM {SCHEMA}.docs"
WITHOUT_JSON = (MySQL56Server, MariaDB102Server, MariaDB105Server, MariaDB114Server)
"""Servers without the type, or with one that is text."""


def defined(server: Server, file: Path) -> Path:
    """Write the schema's CREATE TABLEs as a file for `definitions`."""
    names = [name for (name,) in server.execute(f"SHOW TABLES IN {SCHEMA}")]
    creates = {name: server.execute(f"SHOW CREATE TABLE {SCHEMA}.{name}")[0][1] for name in names}
    file.write_text(
        yaml.safe_dump({f"{SCHEMA}.{name}": create for name, create in creates.items()})
    )
    return file


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_gold_equals_a_server_that_was_seeded_under_writes(
    kind: type[Server], spark: SparkSession, tmp_path: Path
) -> None:
    with running(kind, tmp_path / "server") as server:
        begun_without_history(server)
        has_documents = kind not in WITHOUT_JSON
        if has_documents:
            server.execute(DOCUMENTS)
            server.reset_logs()
        # If the log has no names, the settings must have them; `check` reports it.
        given = {"definitions": str(defined(server, tmp_path / "definitions.yml"))}
        settings = settings_of(server, tmp_path / "lake").model_copy(
            update=given if "--binlog-row-metadata" in kind.LACKS else {}
        )
        with written(server):
            report = seeded(spark, settings)
        assert report.faults == ()
        if has_documents:
            server.execute(LATER)
        reports = run_layers(spark, settings, QuietProgress())
        tables = read_status(spark, settings).tables
        assert all(table.complete and not table.held for table in tables), reports
        found = verify_with_server(spark, settings, QuietProgress(), patience=0)
        assert found.against is not None
        assert (found.against.differences, found.against.compared) == ((), 4 + has_documents)
