"""What the ledger's files tell without Spark, over files as Delta writes them for its commits."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.lake import Lake
from pipeline.ledger import BATCHES, Plan
from pipeline.ledger_files import last_finished

Written = tuple[str, str, int, str]
"""Of a commit: source, layer, batch, state."""
ROUND: list[Written] = [
    ("shop", layer, 1, state)
    for layer in ("bronze", "silver", "gold")
    for state in ("planned", "finished")
]
NEXT_PLAN: Written = ("shop", "gold", 2, "planned")


def commit(folder: Path, version: int, *actions: dict[str, Any]) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(action) for action in ({"commitInfo": {"operation": "WRITE"}}, *actions)]
    (log / f"{version:020d}.json").write_text("\n".join(lines))


def file_of(version: int) -> str:
    return f"part-00000-{version}-c000.snappy.parquet"


def ledger(lake: Path, *written: Written) -> Lake:
    """A ledger with a commit for each row."""
    made = Lake(str(lake))
    folder = Path(made.ledger("batches"))
    for version, (source, layer, batch, state) in enumerate(written):
        app = f"ledger/{source}/{layer}/{state}"
        added = {"path": file_of(version), "dataChange": True}
        commit(folder, version, {"txn": {"appId": app, "version": batch}}, {"add": added})
        row = {
            "source": source,
            "layer": layer,
            "batch": batch,
            "state": state,
            "body": json.dumps({"of": f"{source} {layer} {batch} {state}"}),
            "run_id": f"run{version}",
        }
        pq.write_table(pa.Table.from_pylist([row], schema=BATCHES), folder / file_of(version))
    return made


def expected(source: str, batch: int, run: int) -> tuple[Plan, dict[str, Any]]:
    plan = Plan(source, "gold", batch, {"of": f"{source} gold {batch} planned"}, f"run{run}")
    return plan, {"of": f"{source} gold {batch} finished"}


@pytest.mark.parametrize(
    ("written", "batch", "run"),
    [
        (ROUND, 1, 4),
        ([*ROUND, NEXT_PLAN], 1, 4),
        (
            [*ROUND, NEXT_PLAN, ("shop", "silver", 2, "planned"), ("shop", "gold", 2, "finished")],
            2,
            6,
        ),
        ([*ROUND, ("other", "gold", 9, "planned"), ("other", "gold", 9, "finished")], 1, 4),
    ],
)
def test_the_last_finished_batch_is_found(
    tmp_path: Path, written: list[Written], batch: int, run: int
) -> None:
    found = last_finished(ledger(tmp_path, *written), "shop", "gold")
    assert found == expected("shop", batch, run)
    assert found[0].run_id == f"run{run}"


def test_files_that_were_laid_out_anew_are_told_by_the_old_ones_as_long_as_these_are_there(
    tmp_path: Path,
) -> None:
    lake = ledger(tmp_path, *ROUND)
    folder = Path(lake.ledger("batches"))
    actions = [{"remove": {"path": file_of(version)}} for version in range(6)]
    commit(folder, 6, {"add": {"path": "together.parquet"}}, *actions)
    assert last_finished(lake, "shop", "gold") == expected("shop", 1, 4)
    (folder / file_of(4)).unlink()
    assert last_finished(lake, "shop", "gold") is None


def _without_the_plan(folder: Path) -> None:
    (folder / "_delta_log" / f"{4:020d}.json").unlink()
    # Of what is behind a checkpoint, commits are cleaned away.
    (folder / "_delta_log" / "_last_checkpoint").write_text('{"version": 5}')


@pytest.mark.parametrize(
    ("written", "damage"),
    [
        ([], lambda folder: None),
        ([*ROUND[:4], NEXT_PLAN], lambda folder: None),
        (ROUND, _without_the_plan),
        (ROUND, lambda folder: (folder / file_of(5)).unlink()),
    ],
    ids=["no ledger", "nothing finished", "commits gone", "file gone"],
)
def test_what_files_do_not_tell_is_none(
    tmp_path: Path, written: list[Written], damage: Callable[[Path], None]
) -> None:
    lake = ledger(tmp_path, *written)
    damage(Path(lake.ledger("batches")))
    assert last_finished(lake, "shop", "gold") is None


def test_rows_that_were_taken_away_by_hand_tell_nothing(tmp_path: Path) -> None:
    lake = ledger(tmp_path, *ROUND)
    folder = Path(lake.ledger("batches"))
    commit(folder, 6, {"remove": {"path": file_of(5), "dataChange": True}})
    assert last_finished(lake, "shop", "gold") is None


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_end_in_no_error(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lake = ledger(tmp_path, *ROUND)
    folder = Path(lake.ledger("batches"))
    commits = [folder / "_delta_log" / f"{version:020d}.json" for version in (4, 5)]
    damaged = chance.choice([*commits, folder / file_of(4), folder / file_of(5)])
    content = bytearray(damaged.read_bytes())
    place = chance.randrange(len(content))
    if cut := chance.random() < 0.5:
        del content[place:]
    else:
        content[place] ^= 1 << chance.randrange(8)
    damaged.write_bytes(content)
    found = last_finished(lake, "shop", "gold")
    # Spark too would read a text in which a letter is another; nothing of a file cut short is read.
    assert not (cut and found) or damaged in commits
