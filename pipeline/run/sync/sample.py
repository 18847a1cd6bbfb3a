"""Compare a sample of gold's tables with the server, in a thread beside the rounds.

Beside them because it waits until a round has published the server's state (`pipeline.verify`).
"""

from __future__ import annotations

import glob
import logging
import random
import threading
from collections.abc import Sequence
from datetime import datetime, timezone

from pipeline.errors import BinlakeError, sentence_of
from pipeline.gold import GoldState
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark, started
from pipeline.observe import say
from pipeline.observe.interruption import leave_threads
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.verify.comparison_record import keep_record
from pipeline.verify.report import Verification
from pipeline.verify.run import verify_with_server

_PATIENCE_SECONDS = 600.0
"""Seconds that rounds may take to publish the server's state."""


class VerifiedSample:
    """Verifier of samples; `differing`: the tables that differed when they were last compared."""

    def __init__(self, spark: Spark, settings: Settings) -> None:
        self.differing: frozenset[str] = frozenset()
        self._spark = spark
        self._settings = settings
        self._thread: threading.Thread | None = None
        self._ended = False

    def end(self) -> None:
        """Report nothing from now on: a verification under way ends with Spark."""
        self._ended = True
        if self._thread is not None and self._thread.is_alive():
            leave_threads()

    def verify(self) -> bool:
        """Begin to verify a sample; return False if there is nothing to verify, or if the last
        verification is still under way."""
        if self._thread is not None and self._thread.is_alive():
            return False
        names = self._chosen()
        if names:
            arguments = (names,)
            self._thread = threading.Thread(
                target=self._verify, args=arguments, name="verify", daemon=True
            )
            self._thread.start()
        return bool(names)

    def _chosen(self) -> list[str]:
        """Return some of the tables that gold claims to have in full, at random."""
        settings = self._settings
        state = GoldState.of(Ledger(self._spark, settings.layout, settings.source))
        whole = [
            str(name)
            for name, table in state.tables.items()
            if table.complete and not table.dropped and not state.holds(table)
        ]
        return random.sample(whole, min(len(whole), settings.sync.verify_tables))

    def _verify(self, names: Sequence[str]) -> None:
        began = datetime.now(timezone.utc)
        try:
            spark = started(self._spark)
            found = verify_with_server(
                spark,
                self._settings,
                QuietProgress(),
                tables=[glob.escape(name) for name in names],
                patience=_PATIENCE_SECONDS,
            )
        except Exception as error:
            if self._ended:
                return
            unexpected = None if isinstance(error, BinlakeError) else error
            message = f"{', '.join(names)} could not be verified: {sentence_of(error)}"
            say("verify_failed", message, level=logging.WARNING, trace=unexpected)
        else:
            self._report(names, found)
            keep_record(spark, self._settings, found, began)

    def _report(self, names: Sequence[str], found: Verification) -> None:
        against = found.against
        if against is None or against.equal:
            self.differing -= frozenset(names)
            say("verified", f"Equal to the server: {', '.join(names)}.", tables=list(names))
            return
        if not against.position:  # at another position, rows may well differ
            self.differing -= frozenset(names) - {str(one.name) for one in against.not_compared}
            self.differing |= {f"{one.schema}.{one.table}" for one in against.differences}
            for one in against.differences:
                name = f"{one.schema}.{one.table}"
                say("differs", f"{name}: {one.reason}", level=logging.WARNING, table=name)
        unsure = [against.position, *(f"{one.name}: {one.reason}" for one in against.not_compared)]
        for reason in filter(None, unsure):
            say("verify_failed", f"Not verified: {reason}", level=logging.WARNING)
