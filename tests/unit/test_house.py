"""The house: what is in each room, who may import whom, and what a room shows to the others."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.house.rules import (
    HOW_TO_LIST,
    LEAST_LINES,
    MOST_LINES,
    RULES,
    circles,
    crowded_folders,
    face,
    imports,
    modules,
    near_twins,
    sizes,
    strangers,
)
from tests.support.house.tables import ALLOWED, HOUSE, PACKAGES, ROOMS, ROOT, House

BANNED_IN_DECODER = frozenset(
    {"pyspark", "delta", "pipeline", "logging", "fsspec", "typer", "rich", "pydantic"}
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_house_is_in_order(rule: Callable[[House], Iterator[str]]) -> None:
    assert not list(rule(HOUSE))


def test_what_is_allowed_is_needed() -> None:
    for importer, imported in ALLOWED:
        assert imported in imports(modules(HOUSE)[importer])


def test_every_room_has_one_sentence_of_purpose() -> None:
    for room in ROOMS:
        path = ROOT / Path(*room.split(".")) / "__init__.py"
        docstring = ast.get_docstring(ast.parse(path.read_text())) or ""
        assert re.match(r"\S.*[.:]$", docstring.split("\n\n")[0].replace("\n", " ")), room


@pytest.mark.parametrize("room", ROOMS)
def test_a_face_has_what_it_shows(room: str) -> None:
    exec(f"from {room} import *", {})


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_knows_no_spark_pipeline_or_logging(name: str) -> None:
    used = imports(modules(HOUSE, "decoder")[name])
    assert not {each for each in used if each.split(".")[0] in BANNED_IN_DECODER}


@pytest.mark.parametrize("name", modules(HOUSE, "dags"))
def test_dags_know_nothing_of_the_pipeline(name: str) -> None:
    """Airflow may be where Binlake is not: only what spark-submit gets, and the check of settings
    where it is installed, import it, as they run."""
    path = modules(HOUSE, "dags")[name]
    asks = name.startswith(("dags.spark_application", "dags.binlake_airflow.settings_check"))
    used = imports(path, at_run_time=asks)
    assert not {each for each in used if each.split(".")[0] in PACKAGES}


@pytest.mark.parametrize("name", modules(HOUSE, "decoder"))
def test_the_decoder_opens_no_files(name: str) -> None:
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(modules(HOUSE, "decoder")[name].read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input"}


LONG = "x = 1\n" * LEAST_LINES
SHOWN = '__all__ = ["saw", "x"]\n'


@pytest.fixture
def shed(tmp_path: Path) -> House:
    """A house of two packages that keeps every rule."""
    files = {
        "first/__init__.py": "",
        "first/tools/__init__.py": f"from first.tools.saw import x\n{SHOWN}",
        "first/tools/saw.py": LONG,
        "first/tools/hidden.py": LONG,
        "first/bench/__init__.py": "",
        "first/bench/vice.py": f"from first.tools.saw import x\n{LONG}",
        "second/__init__.py": "",
        "second/user.py": f"from first.tools import x\nclass Plank: ...\n{LONG}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rooms = {
        "first": "tools/ bench/",
        "first.tools": "saw hidden",
        "first.bench": "vice",
        "second": "user",
    }
    order = {"first": ("tools", "bench")}
    return House(tmp_path, ("first", "second"), rooms, order, beside=("yard",), closed=("first",))


def test_a_house_that_keeps_the_rules(shed: House) -> None:
    assert not [breach for rule in RULES for breach in rule(shed)]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("first/bench/loose.py", LONG, f"first.bench has loose, which is not listed{HOW_TO_LIST}"),
        ("first/attic/__init__.py", "", f"first has attic/, which is not listed{HOW_TO_LIST}"),
        (
            "first/tools/saw.py",
            f"import first.bench.vice\n{LONG}",
            "first.tools.saw imports first.bench.vice",
        ),
        (
            "first/tools/saw.py",
            f"def f():\n    from second.user import x\n{LONG}",
            "first.tools.saw imports second.user.x",
        ),
        (
            "second/user.py",
            f"from first.tools import x\nfrom first.tools.hidden import y\n{LONG}",
            "second.user imports first.tools.hidden.y: first.tools does not show hidden",
        ),
        (
            "second/user.py",
            f"from first.tools.saw import x\n{LONG}",
            "second.user imports first.tools.saw.x: saw is a module within first.tools",
        ),
        (
            "second/user.py",
            f"from first.tools import saw\n{LONG}",
            "second.user imports first.tools.saw: saw is a module within first.tools",
        ),
        (
            "first/tools/__init__.py",
            '__all__ = ["hidden", "saw", "x"]\n',
            "first.tools shows hidden, which nobody outside imports",
        ),
        (
            "first/tools/__init__.py",
            '__all__ = ["saw", "x", "y"]\n',
            "first.tools shows y, which nobody outside imports",
        ),
        (
            "first/tools/hidden.py",
            f"from first.tools import saw\n{LONG}",
            None,
        ),
        ("first/tools/hidden.py", "x = 1\n", "first.tools.hidden has fewer than 40 lines"),
        ("first/tools/hidden.py", "x = 1\n" * MOST_LINES, None),
        (
            "first/tools/hidden.py",
            "x = 1\n" * (MOST_LINES + 1),
            "first.tools.hidden has 401 lines, more than 400: split it by concept",
        ),
        (
            "yard/test_saw.py",
            "x = 1\n" * (MOST_LINES + 1),
            "yard.test_saw has 401 lines, more than 400: split it by concept",
        ),
        (
            "first/tools/hidden.py",
            f"class A: ...\nclass _B: ...\n{LONG}",
            None,
        ),
        (
            "first/bench/vice.py",
            f"from first.tools.saw import x\nclass Plank: ...\n{LONG}",
            "Plank is a type in first.bench.vice and in second.user",
        ),
        (
            "first/bench/vice.py",
            f"from first.tools.saw import x\nPlank = tuple[int, int]\n{LONG}",
            "Plank is a type in first.bench.vice and in second.user",
        ),
        (
            "first/bench/vice.py",
            f"from first.tools.saw import x\nPlank: TypeAlias = 'list[int]'\n{LONG}",
            "Plank is a type in first.bench.vice and in second.user",
        ),
        (
            "first/bench/vice.py",
            f"from first.tools.saw import x\nPLANK = (1, 2)\n{LONG}",
            None,
        ),
        (
            "second/saws.py",
            LONG,
            "saw and saws differ only by an ending: first.tools.saw, second.saws",
        ),
        (
            "second/vicing/__init__.py",
            "",
            "vice and vicing differ only by an ending: first.bench.vice, second.vicing",
        ),
    ],
)
def test_a_breach_is_found(shed: House, file: str, text: str, message: str | None) -> None:
    (shed.root / file).parent.mkdir(exist_ok=True)
    (shed.root / file).write_text(text)
    imports.cache_clear()
    face.cache_clear()
    found = [breach for rule in RULES for breach in rule(shed)]
    assert message in found if message else not found


def test_a_pair_of_names_is_an_exception_only_while_it_is_needed(shed: House) -> None:
    (shed.root / "second/saws.py").write_text(LONG)
    pair, other = ("saw", "saws"), ("saw", "vice")
    assert not list(near_twins(replace(shed, twins={pair: "why"})))
    assert list(near_twins(replace(shed, twins={pair: "why", other: "why"}))) == [
        "saw and vice are not near-twins"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("plan", "planning"),
        ("framer", "framing"),
        ("foreign_key", "foreign_keys"),
        ("format_description", "format_descriptor"),
        ("copies", "copy"),
    ],
)
def test_names_that_differ_only_by_an_ending(shed: House, one: str, other: str) -> None:
    for name in (one, other):
        (shed.root / f"second/{name}.py").write_text(LONG)
    assert list(near_twins(shed)) == [
        f"{one} and {other} differ only by an ending: second.{one}, second.{other}"
    ]


def test_names_in_a_folder_beside_the_product_are_compared_with_each_other(shed: House) -> None:
    (shed.root / "yard").mkdir(exist_ok=True)
    for name in ("hut", "huts", "saws"):
        (shed.root / f"yard/{name}.py").write_text(LONG)
    assert not list(near_twins(shed))
    assert list(near_twins(replace(shed, named=("yard",)))) == [
        "hut and huts differ only by an ending: yard.hut, yard.huts"
    ]


def test_a_circle_a_full_room_and_a_lost_entry_are_found(shed: House) -> None:
    for one, other in (("saw", "hidden"), ("hidden", "saw")):
        (shed.root / f"first/tools/{one}.py").write_text(f"from first.tools import {other}\n{LONG}")
    imports.cache_clear()
    assert list(circles(shed)) == ["first.tools: a circle among hidden, saw"]
    full = replace(shed, rooms={"first.bench": " ".join(f"m{n}" for n in range(16))}, order={})
    assert "first.bench has 16 entries" in list(sizes(full))
    assert "first.bench has no m0" in list(strangers(full))
    for number in range(16):
        (shed.root / "tests/saws").mkdir(parents=True, exist_ok=True)
        (shed.root / f"tests/saws/test_{number}.py").write_text(LONG)
    assert list(crowded_folders(shed)) == ["tests/saws has 16 entries"]
    assert list(crowded_folders(replace(shed, crowded=("tests/saws", "tests")))) == [
        "tests has not so many entries"
    ]
    assert list(sizes(replace(shed, small={"first.tools.saw": "why"}))) == [
        "first.tools.saw is not small"
    ]
