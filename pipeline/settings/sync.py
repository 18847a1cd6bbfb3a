"""Settings of `binlake sync`: the schedule of rounds, maintenance and verification."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from pipeline.settings.values import Duration, Model


class SyncSettings(Model):
    """Schedule of a long-running `binlake sync`: rounds, maintenance and verification."""

    every: Duration | None = None
    """Keep running, and start a round this often (`--every`); `0s`: each as soon as the previous
    one has ended. Unset: end after one round."""
    maintain: Duration | None = timedelta(days=1)
    """Maintain the lake, as `binlake maintain` does, this long after the last maintenance of the
    source, by whichever command, or after its first snapshot. `null`: never."""
    verify: Duration | None = timedelta(days=1)
    """Compare a sample of tables with the server this often, alongside the rounds; first after a
    quarter of an hour, or this long if that is shorter. It takes a short read lock there, as
    `binlake verify` does. `null`: never."""
    verify_tables: Annotated[int, Field(ge=1, le=1000)] = 3
    """Number of tables in such a sample, which are chosen at random and read in full."""
