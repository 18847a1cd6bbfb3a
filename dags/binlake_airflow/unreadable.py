"""The DAG of a source whose file cannot be used: its name says why, and it fails with reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

from binlake_airflow.dag_docs import plain

_LONGEST_NAME = 200
_DOCS = """\
The settings cannot be used, so their source has no other DAGs here, and **is not replicated**:

{problems}

Fix the file. Airflow reads it again within minutes; then this DAG disappears, and the source's DAGs
return. The lake is unchanged, and the next replication continues from there.
"""


def unreadable(file: Path, problems: Sequence[str]) -> DAG:
    """Return a DAG with a task that fails every hour, so that Airflow's alerts include it.

    The list of DAGs shows it by its first problem.
    """
    # a.yml becomes `a`, but a.yaml `a.yaml`: both files may exist.
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", file.name.removesuffix(".yml"))
    reason = "; ".join(problems)
    docs = _DOCS.format(problems="\n".join(f"- {plain(problem)}" for problem in problems))

    @task(retries=0, doc_md=docs)
    def read() -> None:
        raise AirflowFailException(reason)

    with DAG(
        dag_id=f"binlake_{name}_unreadable",
        dag_display_name=_display_name(file, problems),
        description=reason[:1000],
        doc_md=docs,
        schedule="@hourly",
        start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
        catchup=False,
        is_paused_upon_creation=False,
        default_args={"owner": "binlake"},
        tags=["binlake", "unreadable"],
    ) as dag:
        read()
    return dag


def _display_name(file: Path, problems: Sequence[str]) -> str:
    """Return the first problem, with the file's name instead of its path, and how many follow."""
    first = problems[0].replace(str(file), file.name, 1)
    if len(first) > _LONGEST_NAME:
        first = f"{first[: _LONGEST_NAME - 1]}…"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"Unreadable: {first}{more}"
