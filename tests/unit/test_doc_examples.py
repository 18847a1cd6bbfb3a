"""Commands and settings in README.md, the tutorial and the guides: Binlake accepts each.

Their Python examples run in tests/integration/binlake/test_python_guide.py.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path

import pytest
import typer

from pipeline.cli.app import app
from pipeline.settings import Settings
from tests.support.binlake.code_blocks import CodeBlock, code_blocks

PROGRAM = typer.main.get_command(app)
SHELLS = ("bash", "sh", "ini")
"""Languages of blocks with commands; `ini` is a systemd unit."""
LANGUAGES = {*SHELLS, "yaml", "python", "sql", "dockerfile", ""}
COMMAND = re.compile(r"^(?:\w+=\S* )*(?:ExecStart=\S*/)?binlake (?:.*\\\n)*.*", re.MULTILINE)
OTHERS = {"# profiles.yml": "dbt"}
"""The program that a YAML block belongs to, by the block's first line, if it is not Binlake."""
VARIABLES = {"DB_HOST": "db.example.com", "BINLAKE_WEBHOOK": "https://hooks.example.com/1"}
"""Environment variables that settings in the docs use without a default."""


def commands() -> Iterator[object]:
    """Yield the arguments of each command that begins a line, or follows `&&` there."""
    for block in code_blocks(*SHELLS):
        for found in COMMAND.finditer(block.code):
            line = block.line + block.code.count("\n", 0, found.start())
            words = shlex.shlex(found[0].replace("\\\n", " "), posix=True, punctuation_chars=True)
            words.whitespace_split = True
            for _, group in groupby(words, key=("&&", "||", ";", "|").__contains__):
                command = [*group]
                programs = [Path(word).name for word in command]
                if "binlake" in programs:
                    arguments = command[programs.index("binlake") + 1 :]
                    yield pytest.param(arguments, id=f"{block.page}:{line}")


def settings_blocks() -> Iterator[object]:
    """Yield the YAML blocks that are settings of Binlake."""
    for block in code_blocks("yaml"):
        if first_line(block) not in OTHERS:
            yield pytest.param(block, id=str(block))


def first_line(block: CodeBlock) -> str:
    return block.code.partition("\n")[0]


@pytest.mark.parametrize("arguments", [*commands()])
def test_a_command_in_the_docs_is_accepted(arguments: list[str]) -> None:
    """It is parsed, not run; options that are settings have values that are valid."""
    with suppress(typer.Exit):  # it asks for help
        program = PROGRAM.make_context("binlake", [*arguments])
        name, command, options = PROGRAM.resolve_command(program, arguments)
        given = command.make_context(name, options).params
        values = {key: given[key] for key in given.keys() & Settings.model_fields}
        Settings.load(None, **values, sync={"every": given.get("every")})


@pytest.mark.parametrize("block", [*settings_blocks()])
def test_settings_in_the_docs_are_accepted(
    block: CodeBlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    file = tmp_path / "shop.yml"
    file.write_text(block.code)
    assert Settings.load(file).model_fields_set


def test_every_exception_is_in_the_docs() -> None:
    """A block that is neither Binlake's settings nor listed fails the test before this one."""
    blocks = [*code_blocks("yaml")]
    assert OTHERS.keys() <= {first_line(block) for block in blocks}
    assert all(any(f"${{{name}}}" in block.code for block in blocks) for name in VARIABLES)


def test_no_block_escapes_by_the_name_of_its_language() -> None:
    assert {block.language for block in code_blocks()} == LANGUAGES
