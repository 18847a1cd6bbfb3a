"""Help pages, version and shell completion: what people expect of a command line."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import suppress
from importlib import metadata

import pytest
import typer
from rich.cells import cell_len
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.cli.options import EXAMPLES

COMMANDS = typer.main.get_command(app).commands
PAGES = ("binlake", *COMMANDS)
LINES = [(name, line) for name in PAGES for line in EXAMPLES[name]]


def page(name: str, option: str = "--help", width: int = 80) -> str:
    """The help page of a command, or of `binlake` itself, on a terminal of that width."""
    command = [option] if name == "binlake" else [name, option]
    result = CliRunner().invoke(app, command, prog_name="binlake", env={"COLUMNS": f"{width}"})
    assert result.exit_code == 0, result.output
    return result.stdout


def words(text: str) -> str:
    """A page's words in their order, without the lines of its boxes."""
    return " ".join(re.sub("[╭╮╰╯│─]", " ", text).split())


@pytest.mark.parametrize("name", PAGES)
def test_a_help_page_fits_80_columns_and_cuts_nothing_off(name: str) -> None:
    text = page(name)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "…" not in text
    assert "..." not in text.replace("[ARGS]...", "").replace(" FILE...", "")
    commands = COMMANDS.values() if name == "binlake" else [COMMANDS[name]]
    for command in commands:
        assert command.help.splitlines()[0] in words(text)
    if name != "binlake":
        for param in COMMANDS[name].params:
            assert " ".join(param.help.split()) in words(text)


def test_the_lines_of_a_help_page_are_full() -> None:
    about = [line.strip() for line in page("init").split("╭")[0].splitlines()]
    paragraphs = "\n".join(about).strip().split("\n\n")[1:]
    lines = [line for paragraph in paragraphs for line in paragraph.splitlines()[:-1]]
    assert [line for line in lines if len(line) < 60] == []
    assert len(lines) > 1


@pytest.mark.parametrize("name", PAGES)
def test_h_is_help(name: str) -> None:
    assert page(name, "-h") == page(name)


@pytest.mark.parametrize("name", PAGES)
def test_a_value_is_named_by_a_word_and_not_by_a_type(name: str) -> None:
    assert not re.search("<[a-z]|TEXT|INTEGER|BOOLEAN|[<>]=|[{}]", page(name))
    options = [] if name == "binlake" else COMMANDS[name].params
    assert [o.name for o in options if o.metavar is None and not getattr(o, "is_flag", 0)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_places_come_before_what_is_done_and_that_before_how_it_is_reported(name: str) -> None:
    groups = re.findall("╭─ ([^─]+) ─", page(name))
    order = ["Arguments", "Where", "What", "Reporting"]
    assert groups == [group for group in order if group in groups]
    assert groups[-1] == "Reporting"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("runs --last 0", "Invalid value for '--last': 0 is less than 1."),
        ("report --html FILE --days 91", "Invalid value for '--days': 91 is more than 90."),
        ("verify --wait -1", "Invalid value for '--wait': -1 is less than 0."),
    ],
)
def test_a_number_out_of_range_is_refused(command: str, message: str) -> None:
    result = CliRunner().invoke(app, command.split(), env={"COLUMNS": "80"})
    assert result.exit_code == 2
    assert message in words(result.stderr.replace("│", " "))


def test_the_commands_are_in_groups() -> None:
    groups = re.findall("╭─ ([^─]+) ─", page("binlake"))
    assert groups[:2] == ["Options", "Replicate"]
    assert len(groups) == 5
    assert "Commands" not in groups


@pytest.mark.parametrize(("name", "line"), LINES)
def test_an_example_parses_and_is_one_line_of_its_help_page(name: str, line: str) -> None:
    assert f" {line} " in page(name)
    program, command, *arguments = shlex.split(line)
    assert program == "binlake"
    assert name in ("binlake", command)
    with suppress(typer.Exit):  # an example asks for help
        COMMANDS[command].make_context(command, arguments)


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version_is_that_of_the_package(option: str) -> None:
    result = CliRunner().invoke(app, [option])
    assert (result.exit_code, result.stdout) == (0, f"binlake {metadata.version('binlake')}\n")


@pytest.mark.parametrize(
    ("typed", "completions"),
    [("binlake st", ["status"]), ("binlake run --full", ["--full-refresh"])],
)
def test_a_shell_completes_commands_and_options(typed: str, completions: list[str]) -> None:
    asked = {
        "_BINLAKE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    result = subprocess.run(
        [sys.executable, "-m", "pipeline.cli"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == completions


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_quiet_and_verbose_which_exclude_each_other(name: str) -> None:
    _, *command = shlex.split(EXAMPLES[name][0])
    result = CliRunner().invoke(app, [*command, "-q", "-v"], env={"COLUMNS": "80"})
    assert result.exit_code == 2
    assert "--quiet and --verbose exclude each other" in result.stderr
