"""A user's program: `make types` fails if a name of `binlake` has another type than here."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import binlake

if TYPE_CHECKING:
    import polars
    from pyspark.sql import DataFrame
    from typing_extensions import assert_type


def use(lake: Path, settings: binlake.Settings) -> None:
    """Never called."""
    record = binlake.run(settings, source="shop", binlogs=[lake, "/logs"], full_refresh=True)
    assert_type(record, binlake.RunRecord)
    assert_type(record.to_json(), str)
    assert_type(binlake.sync(settings, capture={"to": "/logs"}), binlake.RunRecord)
    assert_type(binlake.status(lake), binlake.Status)
    assert_type(binlake.status(lake=lake).tables[0].held, bool)
    assert_type(binlake.check(server="mysql://me@db").findings[0].why, str)
    assert_type(binlake.check(server={"url": "mysql://me@db"}), binlake.CheckReport)
    assert_type(binlake.verify("shop.yml", against="server", tables=["shop.*"]).equal, bool)
    assert_type(binlake.decode(lake, "/logs/*"), Iterator[binlake.Changes])
    assert_type(binlake.read(lake), binlake.Snapshot[DataFrame])
    assert_type(binlake.read(lake, at=7)["shop.orders"], DataFrame)
    assert_type(binlake.read(lake, at="2026-11-22", engine="arrow"), binlake.Snapshot[Any])
    assert_type(binlake.read(lake, engine="polars"), binlake.Snapshot[polars.DataFrame])
    assert_type(binlake.read(lake).committed_at, datetime | None)
    assert_type(binlake.__version__, str)

    binlake.run(sauce="shop")  # type: ignore[call-arg]
    binlake.run(lake=7)  # type: ignore[arg-type]
    binlake.read(lake, engine="pandas")  # type: ignore[call-overload]
    record.outcome = "done"  # type: ignore[misc]
