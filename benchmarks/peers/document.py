"""The benchmark's results as Markdown."""

from __future__ import annotations

from benchmarks.demands import table_of
from benchmarks.marked import Marks, table
from benchmarks.peers.catalog import PEERS, Peer
from benchmarks.peers.compare import OURS, UNFOLDED, disagreements, median_seconds, ratio
from benchmarks.peers.results import Measured, demands

MARKS = Marks("bench-peers")


def block(measured: Measured, conditions: str) -> str:
    """Return the whole report; `conditions` describes the machine and the measurement."""
    parts = [
        conditions.strip(),
        _peers(measured),
        "Work that each omits:",
        _omitted(measured),
        "Counts:",
        _counted(measured),
        "Goals:",
        table_of(demands(measured)),
        "Where our time goes, by timers around the decoder's functions, and the bound:",
        _stages(measured),
    ]
    return "\n\n".join(parts)


def _peers(measured: Measured) -> str:
    head = ["decoder", "version"]
    for file, size in measured.megabytes.items():
        head += [f"{file}, {size:.0f} MB: s", "MB/s", "times ours"]
    rows = [[OURS, "this", *_figures(measured, OURS)]]
    rows.append([UNFOLDED, "this", *_figures(measured, UNFOLDED)])
    rows += [[peer.name, peer.version, *_figures(measured, peer.name)] for peer in PEERS]
    return table(head, rows)


def _figures(measured: Measured, name: str) -> list[str]:
    figures = []
    for file, size in measured.megabytes.items():
        passes = measured.runs[file].passes
        if name in passes:
            seconds = median_seconds(passes[name])
            times = ratio(passes[name], passes[OURS])
            figures += [f"{seconds:.3f}", f"{size / seconds:.0f}", f"{times:.1f}"]
        else:
            figures += ["–", "–", "–"]
    return figures


def _omitted(measured: Measured) -> str:
    lines = [f"- {peer.name}: {_omitted_by(measured, peer)}." for peer in PEERS]
    return "\n".join([f"- {OURS}: nothing.", *lines])


def _omitted_by(measured: Measured, peer: Peer) -> str:
    if peer.name in measured.unbuilt:
        return f"not built: {measured.unbuilt[peer.name]}"
    refused = [f"the whole {file} file: {reason}" for file, reason in peer.refuses.items()]
    return "; ".join([peer.omits, *refused])


def _counted(measured: Measured) -> str:
    lines = []
    for file, run in measured.runs.items():
        counts = run.passes[OURS][0].counts
        differing = disagreements(run)
        others = "; ".join(differing) or f"the same for all {len(run.passes)} that ran"
        lines.append(f"- {file}: {counts}; {others}.")
    return "\n".join(lines)


def _stages(measured: Measured) -> str:
    head = ["stage"]
    for file in measured.stages:
        head += [f"{file}: ms", "share"]
    names = dict.fromkeys(name for stages in measured.stages.values() for name in stages.seconds)
    rows = [[name, *_stage(measured, name)] for name in names]
    rows.append(["total, with timers", *_whole(measured, timed=True)])
    rows.append(["total, without timers", *_whole(measured, timed=False)])
    rows += [[name, *_bound(measured, name)] for name in BOUNDS]
    return table(head, rows)


def _stage(measured: Measured, name: str) -> list[str]:
    cells = []
    for stages in measured.stages.values():
        seconds = stages.seconds.get(name, 0.0)
        cells += [_ms(seconds), f"{100 * seconds / stages.timed:.0f} %"]
    return cells


def _whole(measured: Measured, *, timed: bool) -> list[str]:
    return [
        cell
        for stages in measured.stages.values()
        for cell in (_ms(stages.timed if timed else stages.untimed), "")
    ]


BOUNDS = {
    "the bound: CRC32 of every event (our kernel) + memcpy": "seconds",
    "– of it, CRC32": "crc32",
    "– of it, memcpy": "memcpy",
    "the same with zlib's CRC32": "with_zlib",
}
"""The rows below the stages, with the attribute of `Bound` that each shows."""


def _bound(measured: Measured, name: str) -> list[str]:
    return [
        cell
        for stages in measured.stages.values()
        for cell in (_ms(getattr(stages.bound, BOUNDS[name])), "")
    ]


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"
