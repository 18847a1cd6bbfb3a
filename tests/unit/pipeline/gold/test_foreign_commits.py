"""Which commits of others change what a gold table holds, and which RESTORE undoes them."""

from __future__ import annotations

import pytest

from pipeline.gold.foreign_commits import MARK, Commit, judge

OWN = f"somebody's job; {MARK}"


def restore(version: int, to: int | None) -> Commit:
    return Commit(version, "RESTORE", restored=to)


@pytest.mark.parametrize(
    ("commits", "at_fault", "sound"),
    [
        ([], None, 4),
        ([Commit(5, "MERGE", OWN), Commit(6, "RESTORE", OWN, 2)], None, 6),
        ([Commit(5, "OPTIMIZE"), Commit(6, "VACUUM START"), Commit(7, "CLUSTER BY")], None, 7),
        ([Commit(5, "SET TBLPROPERTIES"), Commit(6, "ADD CONSTRAINT")], None, 6),
        ([Commit(5, "DELETE"), Commit(6, "UPDATE")], 5, 4),
        ([Commit(5, "OPTIMIZE"), Commit(6, "WRITE", "somebody's job")], 6, 5),
        ([Commit(5, "of a later release")], 5, 4),
        ([Commit(5, "WRITE", wrote=False)], 5, 4),
        ([restore(5, 3)], 5, 4),
        ([restore(5, None)], 5, 4),
        ([Commit(5, "DELETE"), restore(6, 4), Commit(7, "OPTIMIZE")], None, 7),
        ([Commit(5, "DELETE"), restore(6, 5)], 5, 4),
        ([Commit(5, "DROP COLUMNS"), restore(6, 4)], None, 6),
        ([Commit(5, "MERGE", OWN), restore(6, 4)], 6, 5),
        ([Commit(5, "DELETE"), Commit(6, "MERGE", OWN), restore(7, 4)], 5, None),
    ],
    ids=[
        "none",
        "Binlake's own",
        "upkeep",
        "properties",
        "rows",
        "a write of another job",
        "an operation that is not known",
        "a write without figures",
        "restored",
        "restored by a time",
        "undone",
        "restored to what was changed",
        "columns that were restored",
        "Binlake's own undone",
        "changed under Binlake",
    ],
)
def test_commits_are_judged(commits: list[Commit], at_fault: int | None, sound: int | None) -> None:
    found = judge(commits, 4)
    assert (found.foreign.version if found.foreign else None) == at_fault
    assert found.columns is None
    assert found.sound == sound


def test_columns_may_have_changed() -> None:
    found = judge([Commit(5, "CHANGE COLUMN"), Commit(6, "DROP COLUMNS")], 4)
    assert found.columns == Commit(5, "CHANGE COLUMN")
    assert (found.foreign, found.sound) == (None, 4)
    assert judge([Commit(5, "SET TAGS", wrote=False)], 4).columns == Commit(
        5, "SET TAGS", wrote=False
    )
