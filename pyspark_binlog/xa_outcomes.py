"""Outcomes of XA transactions: their rows are logged at XA PREPARE, and count from XA COMMIT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyspark_binlog.log_survey import XaStep


@dataclass(frozen=True, slots=True)
class XaCommit:
    """The XA COMMIT of a prepared transaction; `committed_at` is in microseconds since 1970."""

    lsn: int
    gtid: str | None
    committed_at: int


@dataclass(frozen=True)
class XaOutcomes:
    """The outcome of each prepared transaction, by the LSN of its XA PREPARE.

    `commits` has those that were committed. The others were rolled back (`left_out`), or are still
    open (`prepared`, by xid).
    """

    commits: Mapping[int, XaCommit] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    prepared: Mapping[str, XaStep] = field(default_factory=dict)

    @classmethod
    def of(cls, steps: Iterable[XaStep]) -> XaOutcomes:
        """Pair the steps, in the order of the log: each PREPARE with the next decision of its xid.

        A decision whose PREPARE is not among them concerns rows from before the first file.
        """
        commits: dict[int, XaCommit] = {}
        left_out: set[int] = set()
        prepared: dict[str, XaStep] = {}
        for step in steps:
            if step.kind == "prepare":
                prepared[step.xid] = step
            elif step.kind in ("commit", "rollback") and step.xid in prepared:
                begun = prepared.pop(step.xid)
                if step.kind == "commit":
                    commits[begun.lsn] = XaCommit(step.lsn, step.gtid, step.committed_at)
                else:
                    left_out.add(begun.lsn)
        return cls(commits, frozenset(left_out), prepared)

    def within(self, low: int, high: int) -> XaOutcomes:
        """Return the outcomes of transactions prepared in [`low`, `high`)."""
        return XaOutcomes(
            {lsn: commit for lsn, commit in self.commits.items() if low <= lsn < high},
            frozenset(lsn for lsn in self.left_out if low <= lsn < high),
            {xid: step for xid, step in self.prepared.items() if low <= step.lsn < high},
        )

    @property
    def uncommitted(self) -> frozenset[int]:
        """LSNs of the prepared transactions whose rows must not be returned."""
        return self.left_out | {step.lsn for step in self.prepared.values()}

    def __bool__(self) -> bool:
        return bool(self.commits or self.left_out or self.prepared)
