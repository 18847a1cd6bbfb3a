"""The application that spark-submit runs for every task: `binlake-task` of the wheel in --py-files.

spark-submit --py-files binlake-….whl binlake_task.py ingest --conf shop.yml

It is alone in its folder because Python searches that first for modules.
"""

from __future__ import annotations


def main() -> None:
    """Run the command and exit with its code."""
    from pipeline.cli import task_main

    task_main()


if __name__ == "__main__":
    main()
