"""`make demo`'s last lines and `make help`: what is printed can be copied, and fits a terminal."""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from demo.run import FOLDER, LAKE, PROGRAMS, REPOSITORY, SNIPPET, next_steps, shown
from pipeline.cli.app import app

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("lake", [LAKE, Path("/data/my lake's")])
def test_the_last_lines_of_the_demo_are_commands_as_a_shell_reads_them(
    monkeypatch: pytest.MonkeyPatch, lake: Path
) -> None:
    monkeypatch.chdir(REPOSITORY)
    parsed = 0
    for _, line in next_steps(lake):
        program, *arguments = shlex.split(line)
        if program == shown(PROGRAMS / "binlake"):
            name, *rest = arguments
            if name != "--help":
                COMMANDS[name].make_context(name, rest)
            parsed += 1
        elif program == shown(PROGRAMS / "python"):
            ast.parse(arguments[1])
            assert shown(lake / "gold" / "shop" / "orders") in arguments[1]
        else:
            assert line == "make airflow"
    assert parsed == 3


def test_the_demo_names_no_folder_above_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPOSITORY)
    assert shown(FOLDER / "binlogs") == "demo/binlogs"
    assert shown("/elsewhere") == "/elsewhere"
    assert max(map(len, SNIPPET.splitlines())) <= 80


def test_the_demo_says_at_once_what_it_does(tmp_path: Path) -> None:
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "demo.run", tmp_path / "lake"],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "binlog files of a small shop" in process.stdout.readline()
        assert time.monotonic() - began < 5
    finally:
        process.kill()
        process.communicate()


def help_lines() -> list[str]:
    listed = subprocess.run(
        ["make", "help"],
        cwd=REPOSITORY,
        env={**os.environ, "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.splitlines()


def test_make_help_fits_80_columns() -> None:
    assert max(map(len, help_lines())) <= 80


def test_make_help_lists_what_users_need_first() -> None:
    targets = [line.split()[0] for line in help_lines() if line.startswith("  ")]
    assert targets[:5] == ["demo", "airflow", "setup", "wheel", "test"]


def test_make_help_lists_every_target() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    (phony,) = (line for line in text.splitlines() if line.startswith(".PHONY:"))
    targets = {line.split()[0] for line in help_lines() if line.startswith("  ")}
    assert targets == {*phony.split()[1:]} - {"help"}
