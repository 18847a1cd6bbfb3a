"""What spark-submit is given for every task: `binlake-task`, from the wheel in --py-files.

spark-submit --py-files binlake-….whl binlake_task.py ingest --conf shop.yml

Alone in its folder, which Python searches first for modules.
"""

from __future__ import annotations


def main() -> None:
    """Run the command; the exit code is `binlake-task`'s."""
    from pipeline.cli.databricks_task import main as task

    task()


if __name__ == "__main__":
    main()
