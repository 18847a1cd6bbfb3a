"""Table definitions over time: the effects of DDL, and the definition in force at each LSN."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoder.lazy_names import lazy_names

if TYPE_CHECKING:
    from pipeline.schema_history.ddl.effects import TableName
    from pipeline.schema_history.timeline.timeline import Timeline

__all__ = ["TableName", "Timeline", "alter", "ddl", "timeline"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "pipeline.schema_history.ddl.effects": "TableName",
            "pipeline.schema_history.timeline.timeline": "Timeline",
        },
    )
