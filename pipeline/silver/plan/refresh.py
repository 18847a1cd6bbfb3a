"""What silver's plans say of full refreshes: which one a batch is of, and which begins one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter

from pipeline.catalog.timeline.start import text_of
from pipeline.settings import Settings
from pipeline.silver.decode.segments import Mark

FROM_START: Mark = (0, 0)

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
    there again. `upto`: where silver stood before it, and before others that it came in place of.
    """

    batch: int = 0
    asked: str = ""
    under_way: bool = False
    maintained: int = 0
    upto: Mark = FROM_START

    def behind(self, end: Mark, *, more: bool) -> Refresh:
        """What it is behind a batch that ends there; `more`: bronze has more to be taken.

        It is not over before silver is where it stood: a gap that came meanwhile is waited for,
        since gold's cut must not fall behind the one of before.
        """
        return replace(self, under_way=self.under_way and (more or end < self.upto))


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
    upto: Mark = FROM_START


REFRESH = TypeAdapter(Refresh)
BEGINS = TypeAdapter(Begins)
"""Read what `asdict` gave, after JSON."""


def asked(settings: Settings) -> str:
    """What tells a full refresh with these settings from one with others.

    Of `definitions` that is what the file says, wherever it is. Raises SettingsError for one that
    cannot be read.
    """
    told = settings.model_dump(mode="json", include=set(_ASKED))
    if settings.definitions is not None:
        told["definitions"] = text_of(settings.definitions)
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
