"""What silver's plans say of full refreshes: which one a batch is of, and which begins one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pipeline.settings import Settings

_ASKED = frozenset(
    {
        *("include", "exclude", "types", "definitions", "default_charset", "system_time_zone"),
        *("lower_case_table_names", "given_up"),
    }
)
"""Settings that silver's rows, timeline or faults depend on."""


@dataclass(frozen=True, slots=True)
class Refresh:
    """The full refresh that silver's rows are of; `batch` is the one that began it (0: none was).

    `asked`: the settings that it is done with, as `asked` gives them. `under_way`: there are
    batches of it to come. `maintained`: what maintenance removed up to this batch of its own is
    there again.
    """

    batch: int = 0
    asked: str = ""
    under_way: bool = False
    maintained: int = 0


@dataclass(frozen=True, slots=True)
class Begins:
    """What makes a batch the first one of a full refresh, which empties silver.

    `tables`: (schema, table, version) of the tables of changes that there are. `conf`: the settings
    of decoding from then on. The others are as in `Refresh`.
    """

    asked: str
    maintained: int
    tables: tuple[tuple[str, str, int], ...] = ()
    conf: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**asdict(self), "tables": [list(table) for table in self.tables]}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Begins:
        """What `to_dict` gave."""
        tables = tuple((schema, table, version) for schema, table, version in row["tables"])
        return cls(row["asked"], row["maintained"], tables, row["conf"])


def asked(settings: Settings) -> str:
    """What tells a full refresh with these settings from one with others."""
    told = settings.model_dump(mode="json", include=set(_ASKED))
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
