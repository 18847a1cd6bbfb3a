"""The documentation of DAGs and tasks, as Markdown that Airflow's pages render.

They show it in a dialog of 50 columns. They render tables, links, and code blocks that name a
language, but do not wrap these. A code block without one becomes a single line, code in a sentence
covers the next line, and a Mermaid diagram stays source code. A relative link depends on the page
that shows it, so links here begin at Airflow's root.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from airflow.sdk import DAG
from airflow.sdk.configuration import conf

from binlake_airflow.source import Source

DOCUMENTATION = "BINLAKE_DOCS"
"""The environment variable with the URL of the documentation that `make docs` builds."""


class TaskDocs(NamedTuple):
    """A task's purpose, and the meaning of its failure."""

    does: str
    failed: str


_RESUMES = (
    "It is retried unless the settings are wrong, and resumes where it stopped. After the last"
    " retry: fix the error at the end of its log, and clear it."
)

TASKS: Mapping[str, TaskDocs] = MappingProxyType(
    {
        "capture": TaskDocs(
            "Copies the server's new binary logs to **capture.to**.",
            "The server or the folder was not reached. Landed files are replicated; nothing is"
            " seeded.",
        ),
        "seed": TaskDocs(
            "Reads initial snapshots of tables that gold lacks.",
            "A table cannot be read. All others are replicated.",
        ),
        "run": TaskDocs("Ingests, decodes and applies new changes in one task.", _RESUMES),
        "bronze": TaskDocs("Stores new binlog files, byte for byte.", _RESUMES),
        "silver": TaskDocs("Decodes them into typed change rows.", _RESUMES),
        "gold": TaskDocs("Applies the changes to gold, and publishes a snapshot.", _RESUMES),
        "published": TaskDocs(
            "Updates the asset that other DAGs wait for; skipped if gold has not changed.",
            "Other DAGs do not start. Clear it.",
        ),
        "check": TaskDocs(
            "Looks for held tables, open faults and missing files.",
            "Its log names them and what to do. All other tables are published.",
        ),
        "report": TaskDocs(
            "Writes the page of the lake, also after a run that failed.",
            "The page shows an earlier state. The lake is not affected.",
        ),
        "maintenance": TaskDocs("Applies retention, compacts and vacuums.", _RESUMES),
        "verify": TaskDocs(
            "Compares gold with a snapshot of the server.",
            "They differ, or gold did not catch up within **verify_wait**: see its log.",
        ),
        "binlogs": TaskDocs("Reads the parameter **binlogs**.", "Clear it."),
        "steps": TaskDocs("Divides **since** to **until** in steps.", "Its log names the cause."),
    }
)
"""All tasks by id."""


def task_docs(task_id: str) -> str:
    """Return a task's documentation, which its page shows."""
    does, failed = TASKS[task_id]
    return f"{does}\n\n**If it fails:** {failed}"


def document(dag: DAG, source: Source, text: str) -> None:
    """Set the documentation of a complete DAG: `text`, its tasks, and links."""
    guides = (_guide("airflow", "Schedule with Airflow"), _guide("recover", "Recover a held table"))
    dag.doc_md = "\n\n".join(
        [
            text.strip(),
            f"```text\n{diagram(dag)}\n```",
            f"**DAGs of {plain(source.name)}:** {' · '.join(_links(source))}",
            _table(dag),
            f"**Settings:** {plain(str(source.file))}",
            *_page(source),
            f"**Guides:** {' · '.join(guides)}",
        ]
    )


def plain(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", text)


def diagram(dag: DAG) -> str:
    """Return the DAG as text: its longest path, then a line for each task beside it."""
    ends: dict[str, list[str]] = {}
    for task in dag.task_group.topological_sort():
        before = (ends[name] for name in sorted(task.upstream_task_ids))
        ends[task.node_id] = [*max(before, key=len, default=[]), task.node_id]
    path = max(ends.values(), key=len, default=[])
    beside = [dag.get_task(name) for name in ends if name not in path]
    lines = [path]
    for task in beside:
        # Only the nearest: a path that leads there is in the first line.
        upstream = [name for name in path if name in task.upstream_task_ids][-1:]
        downstream = [name for name in path if name in task.downstream_task_ids][:1]
        lines.append([*upstream, task.task_id, *downstream])
    return "\n".join(" → ".join(line) for line in lines)


def _table(dag: DAG) -> str:
    rows = [
        f"| **{task.node_id}** | {' | '.join(TASKS[task.node_id])} |"
        for task in dag.task_group.topological_sort()
    ]
    return "\n".join(["| task | what it does | if it fails |", "|---|---|---|", *rows])


def _links(source: Source) -> Iterator[str]:
    """Yield a link to each DAG of the source, with its schedule."""
    own = source.options
    schedules = {"replication": own.schedule, "maintenance": own.maintenance, "backfill": None}
    if own.verify is not None:
        schedules["verify"] = own.verify
    root = urlsplit(conf.get("api", "base_url", fallback="")).path.rstrip("/")
    for kind, schedule in schedules.items():
        when = "by hand" if schedule is None else plain(schedule)
        yield f"[{kind}]({root}/dags/{source.dag_id(kind)}) {when}"


def _page(source: Source) -> Iterator[str]:
    """Yield a line with the page of the lake, if it is written."""
    own = source.options
    if own.report is not None:
        place = f"[open]({own.report_url})" if own.report_url else plain(own.report)
        yield f"**Page of the lake:** {place}"


def _guide(page: str, title: str) -> str:
    """Return a link to a guide, or its path in the repository if no documentation is published."""
    if base := os.environ.get(DOCUMENTATION):
        return f"[{title}]({base.rstrip('/')}/guides/{page}.html)"
    return f"{title}, docs/guides/{page}.md in Binlake's repository"
