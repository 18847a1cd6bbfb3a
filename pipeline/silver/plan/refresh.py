"""Full refreshes in silver's plans: the refresh of a batch, and the batch that starts one."""

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
    """The full refresh that silver's rows belong to; `batch` started it (0: there was none).

    `asked` is the hash of its settings, from `asked`. `under_way`: it has batches to come.
    `maintained`: data that maintenance removed up to this batch of its own exists again. `upto`:
    silver's position before it, and before other refreshes that it replaced.
    """

    batch: int = 0
    asked: str = ""
    under_way: bool = False
    maintained: int = 0
    upto: Mark = FROM_START

    def after(self, end: Mark, *, more: bool) -> Refresh:
        """Return it after a batch that ends there; `more`: bronze has more to decode.

        It is not finished before silver's previous position: if a gap has appeared meanwhile, it
        waits, because gold's published snapshot must not fall behind the previous one.
        """
        return replace(self, under_way=self.under_way and (more or end < self.upto))


@dataclass(frozen=True, slots=True)
class Begins:
    """The part of a plan that starts a full refresh, which empties silver.

    `tables` are the existing tables of changes as (schema, table, version). `conf` has the decoding
    settings from then on. Other fields are as in `Refresh`.
    """

    asked: str
    maintained: int
    tables: tuple[tuple[str, str, int], ...] = ()
    conf: Mapping[str, Any] = field(default_factory=dict)
    upto: Mark = FROM_START


REFRESH = TypeAdapter(Refresh)
BEGINS = TypeAdapter(Begins)
"""Parsers of what `asdict` returned, after JSON."""


def asked(settings: Settings) -> str:
    """Return a hash of the settings that distinguish one full refresh from another.

    For `definitions` it covers the file's content, not its path. Raises SettingsError if the file
    cannot be read.
    """
    values = settings.model_dump(mode="json", include=set(_ASKED))
    if settings.definitions is not None:
        values["definitions"] = text_of(settings.definitions)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
