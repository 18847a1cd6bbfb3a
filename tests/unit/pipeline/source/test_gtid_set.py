"""GTID sets, compared with sets of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.source import GtidSet


@pytest.mark.parametrize(
    ("wanted", "had", "left"),
    [
        ("", [""], ""),
        ("u:1-5", ["u:1-5"], ""),
        ("u:1-5", ["u:1-2", "u:4"], "u:3:5"),
        ("u:1-5:9", ["v:1-9"], "u:1-5:9"),
        ("u:1-3,\nv:7", ["u:2-8"], "u:1,v:7"),
        ("u:1-3:tag:1-2", ["u:1-3:other:1"], "u:tag:1-2"),
        ("u:tag:1-2", ["u:tag:2"], "u:tag:1"),
    ],
)
def test_difference_with_the_union_of_others(wanted: str, had: list[str], left: str) -> None:
    assert GtidSet.of(*had).lacking(GtidSet.of(wanted)) == left


@given(*[st.sets(st.integers(1, 30))] * 3)
def test_difference_equals_that_of_sets_of_numbers(
    wanted: set[int], one: set[int], other: set[int]
) -> None:
    def printed(numbers: set[int]) -> str:
        return ":".join(["u", *map(str, sorted(numbers))]) if numbers else ""

    had = GtidSet.of(printed(one)) | GtidSet.of(printed(other))
    left = had.lacking(GtidSet.of(printed(wanted)))
    both = GtidSet.of(printed(wanted)) & had
    found = set()
    for field in left.split(":")[1:]:
        first, _, last = field.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    assert found == wanted - one - other
    assert {n for n in range(40) if f"u:{n}" in both} == wanted & (one | other)
    assert had.size == len(one | other)


@pytest.mark.parametrize(
    ("sets", "together"),
    [
        ([], ""),
        (["", ""], ""),
        (["u:1-3", "u:4-5:9"], "u:1-5:9"),
        (["u:1-9", "u:3"], "u:1-9"),
        (["u:1:tag:1", "u:2:tag:3"], "u:1-2:tag:1:3"),
        (["u:tag:7"], "u:tag:7"),
        (["U:1-2:TAG:1", " u:3 "], "u:1-3:tag:1"),
        (["v:6-7:1-5:9,\nu:1:1-3:2-4"], "u:1-4,v:1-7:9"),
        (["1-2-5,0-1-100", "0-1-7"], "0-1-100,1-2-5"),
    ],
)
def test_union_of_sets(sets: list[str], together: str) -> None:
    assert str(GtidSet.of(*sets)) == together


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(("u", "invalid literal"), ("u::1", "not a GTID set"), ("0-1", "not enough values")),
        *(("0-1-x", "invalid literal"), ("u:1-x", "invalid literal")),
    ],
)
def test_malformed_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GtidSet.of(text)


SOURCES = ("u", "v", "u:tag", "u:web")
NAIVE = st.frozensets(st.tuples(st.sampled_from(SOURCES), st.integers(1, 25)))
"""Sets of single numbers of sources."""


def of_numbers(naive: frozenset[tuple[str, int]]) -> GtidSet:
    return GtidSet.of(*(f"{source}:{number}" for source, number in naive))


@given(NAIVE, NAIVE)
def test_mysqls_sets_behave_like_sets_of_numbers(
    one: frozenset[tuple[str, int]], other: frozenset[tuple[str, int]]
) -> None:
    some, others = of_numbers(one), of_numbers(other)
    assert some | others == of_numbers(one | other)
    assert some & others == of_numbers(one & other)
    assert some - others == of_numbers(one - other)
    assert some.holds(others) is (one >= other)
    assert GtidSet.of(str(some)) == some
    assert some.lacking(others) == str(of_numbers(other - one))


LASTS = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(1, 3)), st.integers(1, 9))


@given(LASTS, LASTS)
def test_mariadbs_sets_contain_all_up_to_the_last_number(
    one: dict[tuple[int, int], int], other: dict[tuple[int, int], int]
) -> None:
    def numbers(lasts: dict[tuple[int, int], int]) -> set[tuple[int, int, int]]:
        return {(d, s, n) for (d, s), last in lasts.items() for n in range(1, last + 1)}

    some, others = GtidSet(last=one), GtidSet(last=other)
    assert numbers(dict((some | others).last)) == numbers(one) | numbers(other)
    assert numbers(dict((some & others).last)) == numbers(one) & numbers(other)
    assert numbers(dict((some - others).last)) >= numbers(one) - numbers(other)
    assert (some - others) | others == some | others
    assert some.holds(others) is (numbers(one) >= numbers(other))
    assert GtidSet.of(str(some)) == some


MARIADB = GtidSet.of("0-1-5,0-2-9,1-1-3")


@pytest.mark.parametrize(
    ("gtid", "inside"),
    [
        *(("0-1-5", True), ("0-1-6", False), ("0-2-9", True), ("0-3-1", False), ("1-1-4", False)),
        *(("2-1-1", False), ("u:1", False)),
    ],
)
def test_mariadbs_set_is_the_last_number_of_every_domain_and_server(
    gtid: str, *, inside: bool
) -> None:
    assert (gtid in MARIADB) is inside


def test_algebra_of_mariadbs_sets() -> None:
    other = GtidSet.of("0-1-7,2-1-1")
    assert str(MARIADB | other) == "0-1-7,0-2-9,1-1-3,2-1-1"
    assert str(MARIADB & other) == "0-1-5"
    assert MARIADB.lacking(GtidSet.of("0-1-8")) == ""  # the domain has come further
    assert MARIADB.lacking(other).startswith("2-1-1 and earlier")
    assert MARIADB.missing_by_server(GtidSet.of("0-1-8,0-2-9,0-3-1,u:4")) == "u:4,0-1-8,0-3-1"
    assert str(MARIADB.restricted_to_servers_of(GtidSet.of("0-2-1,7-1-1"))) == "0-2-9"
    assert not GtidSet.of("")
    assert MARIADB


def test_from_first_of_drops_numbers_below_the_first_shown() -> None:
    had = GtidSet.of("u:1-9,v:1-3,u:tag:4,0-1-5")
    assert (
        str(had.without_numbers_before_first_of(GtidSet.of("u:5-6:20")))
        == "u:5-9:tag:4,v:1-3,0-1-5"
    )
    assert str(had.without_numbers_before_first_of(GtidSet.of("v:7"))) == "u:1-9:tag:4,0-1-5"


def test_mariadbs_are_picked_by_domain_and_server() -> None:
    found = GtidSet.of("0-1-5,0-2-7,1-2-3")
    known = GtidSet.of("0-1-6,2-2-9")
    assert str(found.passed_unnamed_in(known)) == ""
    assert str(found.passed_unnamed_in(GtidSet.of("0-1-7,1-9-2"))) == "0-2-7"
    assert str(found.no_further_than(known)) == "0-1-5"
    assert str(found.outside_domains_of(known)) == "1-2-3"
    assert str(found.of_server(2)) == "0-2-7,1-2-3"


@pytest.mark.parametrize(
    ("gold", "server", "lacking"),
    [
        ("u:1-5", "u:1-9,v:1", ""),
        ("u:1-5,v:1-2:tag:1", "u:1-3,v:1-2", "u:4-5,v:tag:1"),
        ("0-1-7,1-1-2", "0-2-8,1-1-2", ""),
        ("0-1-7,0-2-9", "0-1-7", "0-2-9"),
        ("0-1-7,3-1-1", "0-1-7", "3-1-1"),
    ],
)
def test_gtids_that_a_server_has_not_reached(gold: str, server: str, lacking: str) -> None:
    assert str(GtidSet.of(gold).not_reached_by(GtidSet.of(server))) == lacking


def test_the_last_of_each_domain() -> None:
    found = GtidSet.of("0-1-7,0-2-9,1-1-4,u:1-3").last_of_domains()
    assert str(found) == "0-2-9,1-1-4"


@pytest.mark.parametrize(
    ("gtids", "uuid", "server_id", "own"),
    [
        ("u:1-3,v:1", "V", 1, True),
        ("u:tag:3", "u", 1, True),
        ("u:1-3", "w", 1, False),
        ("0-1-3,0-2-4", "", 2, True),
        ("0-1-3", "", 2, False),
        ("", "", 0, False),
    ],
)
def test_has_any_of_finds_the_servers_own_gtids(
    gtids: str, uuid: str, server_id: int, *, own: bool
) -> None:
    assert GtidSet.of(gtids).includes_server(uuid, server_id) is own
