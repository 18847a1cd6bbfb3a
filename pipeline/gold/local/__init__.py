"""Changes of gold tables on a local disk by this process, without Spark.

Few changes of small tables are folded in Arrow, small initial snapshots are loaded, and small
tables rewritten with other columns; tables of any size are emptied.
"""

from __future__ import annotations

__all__ = ["fold", "merge", "overwrite", "seed", "table"]
