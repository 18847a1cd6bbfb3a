"""Foreign key actions on child rows, change by change, without Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pipeline.gold.cascades.links import Link, RowIdentity, loose
from pipeline.gold.cascades.replay import Replay, RowChange, RowValues, TableRows
from pipeline.schema_history import TableName

P, C, G = (TableName("s", name) for name in "pcg")
CASCADE, NULL = "CASCADE", "SET NULL"


def link(
    child: TableName = C,
    parent: TableName = P,
    on_delete: str = CASCADE,
    on_update: str = CASCADE,
    **options: Any,
) -> Link:
    return Link(child, ("up",), parent, ("id",), on_delete, on_update, **options)


def event(
    lsn: int,
    table: TableName,
    before: RowValues | None,
    after: RowValues | None = None,
    *,
    unlogged: bool = True,
) -> RowChange:
    return RowChange((lsn, 100, 0), table, before, after, unlogged)


def row(number: Any, up: Any = None) -> RowValues:
    return {"id": number, "up": up}


def replayed(
    links: Sequence[Link],
    base: dict[TableName, list[RowValues]],
    events: Sequence[RowChange],
    *,
    key: tuple[str, ...] = ("id",),
    complete: bool = True,
) -> tuple[Replay, dict[TableName, list[RowValues]]]:
    """Replay with all requested values loaded, as gold's planning does; also return the rows."""
    loaded: dict[Link, set[RowIdentity]] = defaultdict(set)
    while True:
        children = {}
        for child in {link.child for link in links}:
            own = tuple(link for link in links if link.child == child)
            children[child] = TableRows(key, ("id", "up"), 0, 1000, own, complete)
            for known in base.get(child, ()):
                children[child].put(dict(known))
        replay = Replay(links, children, loaded)
        for one in events:
            replay.take(one)
        if not replay.missing:
            found = {
                name: sorted((r for some in rows.rows.values() for r in some), key=repr)
                for name, rows in children.items()
            }
            return replay, found
        for one_link, values in replay.missing.items():
            loaded[one_link] |= values


CASES: dict[str, tuple[list[Link], dict[TableName, list[RowValues]], list[RowChange], Any]] = {
    "delete": ([link()], {C: [row(1, 7), row(2, 8)]}, [event(1, P, row(7))], {C: [row(2, 8)]}),
    "set null": (
        [link(on_delete=NULL)],
        {C: [row(1, 7), row(2, 8)]},
        [event(1, P, row(7))],
        {C: [row(1), row(2, 8)]},
    ),
    "update, then delete": (
        [link()],
        {C: [row(1, 7), row(2, 8)]},
        [event(1, P, row(7), row(9)), event(2, P, row(9))],
        {C: [row(2, 8)]},
    ),
    "checks off": (
        [link()],
        {C: [row(1, 7)]},
        [event(1, P, row(7), unlogged=False)],
        {C: [row(1, 7)]},
    ),
    "moved away before": (
        [link()],
        {C: [row(1, 7)]},
        [event(1, C, row(1, 7), row(1, 8)), event(2, P, row(7))],
        {C: [row(1, 8)]},
    ),
    "an image with only the changed columns": (
        [link()],
        {C: [row(1, 7)]},
        [event(1, C, {"id": 1}, {"id": 5}), event(2, P, row(7))],
        {C: []},
    ),
    "two levels": (
        [link(), link(G, C)],
        {C: [row(1, 7), row(2, 8)], G: [row(1, 1), row(2, 2)]},
        [event(1, P, row(7))],
        {C: [row(2, 8)], G: [row(2, 2)]},
    ),
    "to itself": (
        [link(C, C)],
        {C: [row(1), row(2, 1), row(3, 2), row(4)]},
        [event(1, C, row(1))],
        {C: [row(4)]},
    ),
    "restricted": (
        [link(on_delete="", on_update="")],
        {C: [row(1, 7)]},
        [event(1, P, row(7))],
        {C: [row(1, 7)]},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_equal_those_of_innodb(name: str) -> None:
    links, base, events, expected = CASES[name]
    replay, rows = replayed(links, base, events)
    assert not replay.doubts
    assert rows == expected


def test_each_cascade_follows_its_cause() -> None:
    links, base, events, _ = CASES["two levels"]
    replay, _ = replayed(links, base, [*events, event(2, P, row(8))])
    assert [(one.place, one.number, one.table, one.before) for one in replay.cascaded] == [
        ((1, 100, 0), 1, C, row(1, 7)),
        ((1, 100, 0), 2, G, row(1, 1)),
        ((2, 100, 0), 1, C, row(2, 8)),
        ((2, 100, 0), 2, G, row(2, 2)),
    ]


def test_every_copy_of_a_keyless_row_is_deleted() -> None:
    base = {C: [row(1, 7), row(1, 7), row(1, 8)]}
    replay, rows = replayed([link(on_delete=NULL)], base, [event(1, P, row(7))], key=())
    assert [one.after for one in replay.cascaded] == [row(1), row(1)]
    assert rows == {C: [row(1, 8), row(1), row(1)]}


@pytest.mark.parametrize(
    ("links", "base", "events", "reason"),
    [
        ([link()], {C: [row(1, "a")]}, [event(1, P, row("A"))], "depends on their collation"),
        ([link()], {}, [event(1, P, {"up": 3})], "leave out id"),
        ([link()], {}, [event(1, P, row("\ufffd"))], "cannot distinguish"),
        ([link(zero_dates=frozenset({"id"}))], {}, [event(1, P, row(None))], "cannot distinguish"),
        ([link(doubt="of other types")], {}, [event(1, P, row(1))], "of other types"),
    ],
)
def test_nothing_is_guessed_in_doubt(
    links: list[Link], base: dict[TableName, list[RowValues]], events: list[RowChange], reason: str
) -> None:
    replay, _ = replayed(links, base, events)
    ((child, lsn),) = replay.doubts
    assert (child, lsn) == (C, 1)
    assert reason in replay.doubts[child, lsn]
    assert not replay.cascaded


def test_texts_of_a_binary_collation_are_compared_exactly() -> None:
    base = {C: [row(1, "a"), row(2, "A")]}
    exact = link(exact=frozenset({"up"}))
    replay, rows = replayed([exact], base, [event(1, P, row("A"))])
    assert (replay.doubts, rows) == ({}, {C: [row(1, "a")]})


def test_rows_missing_in_gold_leave_dependent_tables_incomplete() -> None:
    replay, _ = replayed([link(), link(G, C)], {}, [event(1, P, row(7))], complete=False)
    assert (list(replay.lacks), replay.doubts) == ([(G, 1)], {})


LATE, DONE = (0, 3), (5, 9)


@pytest.mark.parametrize(
    ("between", "lsn", "doubted"),
    [
        (LATE, 3, {}),
        (LATE, 4, {(G, 4): "changes of s.c are not applied"}),
        (DONE, 5, {(G, 5): "gold has applied later changes to s.c"}),
        (DONE, 6, {}),
    ],
)
def test_a_table_at_another_position_leaves_tables_below_it_in_doubt(
    between: tuple[int, int], lsn: int, doubted: dict[tuple[TableName, int], str]
) -> None:
    links = [link(), link(G, C)]
    own = {C: (links[0],), G: (links[1],)}
    reach = {C: between, G: (0, 9)}
    children = {n: TableRows(("id",), ("id", "up"), *reach[n], own[n]) for n in (C, G)}
    children[C].put(row(1, 7))
    children[G].put(row(2, 1))
    replay = Replay(links, children, {links[0]: {(7,)}, links[1]: {(1,)}})
    replay.take(event(lsn, P, row(7)))
    assert replay.doubts == doubted
    assert [one.table for one in replay.cascaded] == ([] if doubted else [C, G])


@pytest.mark.parametrize(
    ("one", "after", "doubted"),
    [
        (link(computed=True), row(8), True),
        (link(computed=True), None, False),
        (link(computed=True, on_delete=NULL), None, True),
    ],
)
def test_columns_generated_from_a_changed_foreign_key_are_in_doubt(
    one: Link, after: RowValues | None, *, doubted: bool
) -> None:
    replay, _ = replayed([one], {C: [row(1, 7)]}, [event(1, P, row(7), after)])
    assert bool(replay.doubts) == doubted


@pytest.mark.parametrize(("up", "doubted"), [(7, True), (8, False)])
def test_unknown_logging_only_matters_if_rows_refer(up: int, *, doubted: bool) -> None:
    uncertain = replace(event(1, P, row(7)), doubt="not known")
    replay, _ = replayed([link()], {C: [row(1, up)]}, [uncertain])
    assert bool(replay.doubts) == doubted


def test_carried_columns_are_part_of_every_cascade() -> None:
    one = link(on_update=NULL)
    children = {C: TableRows(("id",), ("id", "up", "g"), 0, 9, (one,), carried=("g",))}
    children[C].put({"id": 1, "up": 7, "g": "same"})
    replay = Replay([one], children, {one: {(7,)}})
    replay.take(event(1, P, row(7), row(8)))
    assert [change.after for change in replay.cascaded] == [{"up": None, "g": "same"}]


def test_an_insert_with_unknown_columns_is_in_doubt() -> None:
    replay, _ = replayed([link()], {}, [event(1, C, None, {"id": 1}), event(2, P, row(7))])
    assert list(replay.doubts) == [(C, 1)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("a", "A"), ("é", "E"), ("ß", "ss"), ("straße", "STRASE"), ("a  ", "a"), ("Ａ", "a")),
        *(("カ", "か"), ("å", "aa"), ("ö", "oe"), ("Æ", "ae"), ("Ø", "o"), ("a\u200b", "a")),
        ("😀", "😺"),
    ],
)
def test_texts_that_a_collation_may_equate_have_one_loose_form(one: str, other: str) -> None:
    assert loose(one) == loose(other)


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P"])))
def test_case_never_counts(text: str) -> None:
    assert loose(text) == loose(text.upper()) == loose(text.lower())


Steps = st.lists(
    st.tuples(st.sampled_from("pcg"), st.integers(1, 4), st.integers(0, 4), st.booleans()),
    max_size=25,
)


@given(Steps)
def test_any_history_ends_like_in_a_database(steps: list[tuple[str, int, int, bool]]) -> None:
    """A database of three levels: p, c refers to p (ON DELETE CASCADE), g to c (SET NULL)."""
    tables: dict[TableName, dict[int, int | None]] = {P: {}, C: {}, G: {}}
    events: list[RowChange] = []
    for lsn, (letter, number, up, deletes) in enumerate(steps, 1):
        name = TableName("s", letter)
        table = tables[name]
        parent = {P: {}, C: tables[P], G: tables[C]}[name]
        value = up if up in parent else None
        if deletes and number in table:
            events.append(event(lsn, name, row(number, table.pop(number))))
            if name == P:
                _gone(tables, number)
            elif name == C:
                _nulled(tables, number)
        elif not deletes:
            before = row(number, table[number]) if number in table else None
            table[number] = value
            events.append(event(lsn, name, before, row(number, value)))
    links = [link(C, P, CASCADE, CASCADE), link(G, C, NULL, NULL)]
    replay, rows = replayed(links, {}, events)
    assert not replay.doubts
    for name in (C, G):
        assert {r["id"]: r["up"] for r in rows[name]} == tables[name]


def _gone(tables: dict[TableName, dict[int, int | None]], parent: int) -> None:
    for number in [n for n, up in tables[C].items() if up == parent]:
        del tables[C][number]
        _nulled(tables, number)


def _nulled(tables: dict[TableName, dict[int, int | None]], parent: int) -> None:
    for number in [n for n, up in tables[G].items() if up == parent]:
        tables[G][number] = None
