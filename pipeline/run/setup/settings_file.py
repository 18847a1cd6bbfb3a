"""The work of `binlake init`: ask the server, and write the settings file for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from pipeline.errors import SettingsError
from pipeline.run.setup.proposal import Given, propose
from pipeline.run.setup.settings_text import settings_text
from pipeline.source.check.facts import ServerFacts
from pipeline.source.check.finding import Finding
from pipeline.source.check.report import SECTIONS, shown_tables
from pipeline.source.check.run import server_facts
from pipeline.source.server.login import Login

_KEYS = (
    "All other settings have their defaults: binlake config --conf THIS_FILE shows them, and"
    " conf/binlake.yml in Binlake's repository explains them."
)
_PLACES = (
    "run on the server:",
    "in its option file, under [mysqld]:",
    "in its option file, under [mysqld], then restart it:",
    "in this file:",
)
"""The place of the lines of each of `SECTIONS`."""


@dataclass(frozen=True, slots=True)
class WrittenSettings:
    """The file that was written for a server, and the findings to act on."""

    file: Path
    server: str
    address: str
    to_do: tuple[Finding, ...]


def write_settings(
    login: Login, given: Given, file: Path | None, *, force: bool = False
) -> WrittenSettings:
    """Write the settings for a server; by default to a file named after the source.

    Raises SettingsError if the file exists (unless `force`) or cannot be written, and what
    `check_server` raises.
    """
    if file is not None:
        _require_new(file, force=force)
    facts = server_facts(login)
    proposal = propose(facts, login, given)
    place = file or Path(f"{proposal.values['source']}.yml")
    _require_new(place, force=force)
    to_do = tuple(finding for finding in proposal.findings if finding.verdict != "ok")
    heading = [*_about(facts, login), *_found(to_do)]
    _write(place, settings_text(heading, proposal.values, proposal.notes), force=force)
    return WrittenSettings(place, facts.version.name, login.address, to_do)


def show(written: WrittenSettings, out: Console) -> None:
    """Print which file was written, what the server lacks, and the next commands."""
    lines = [f"{written.file} has the settings for {written.server} at {written.address}."]
    for verdict in ("problem", "advice"):
        if names := [finding.check for finding in written.to_do if finding.verdict == verdict]:
            lines.append(f"{verdict}: {', '.join(names)}. The file says what to change.")
    file = shlex.quote(str(written.file))
    lines += [
        "Review it, then run:",
        f"  binlake config --conf {file}",
        f"  binlake check --conf {file}",
    ]
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _about(facts: ServerFacts, login: Login) -> Iterator[str]:
    yield (
        f"Settings of Binlake, written by binlake init for {facts.version.name} at"
        f" {login.address}, as {facts.user} sees it."
    )
    yield _KEYS


def _found(to_do: Sequence[Finding]) -> Iterator[str]:
    """Yield what to change on the server or here, as `binlake check` shows it."""
    yield ""
    if not to_do:
        yield "binlake check finds no problem."
        return
    yield "What binlake check finds:"
    for finding in to_do:
        yield ""
        has = ": ".join(filter(None, (finding.has, shown_tables(finding.tables))))
        yield f"{finding.verdict}: {finding.check}: {has}. {finding.why}"
        for place, (_, lines_of) in zip(_PLACES, SECTIONS, strict=True):
            if lines := list(lines_of(finding.change)):
                yield place
                yield from (f"  {line}" for line in lines)


def _require_new(file: Path, *, force: bool) -> None:
    if file.exists() and not force:
        raise _exists(file)


def _write(file: Path, text: str, *, force: bool) -> None:
    try:
        with file.open("w" if force else "x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise _exists(file) from None
    except OSError as error:
        remedy = "Check the path, and that this user can write it."
        raise SettingsError(
            f"{file} cannot be written: {error.strerror}.", key="to", remedy=remedy
        ) from error


def _exists(file: Path) -> SettingsError:
    remedy = "Give --force to replace it, or another file (--to)."
    return SettingsError(f"{file} exists.", key="to", remedy=remedy)
