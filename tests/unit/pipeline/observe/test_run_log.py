"""Log lines: as JSON, as text and on a terminal, without secrets."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from pipeline.observe import run_log, say
from pipeline.observe.current_run import begin
from pipeline.observe.redaction import Redaction
from pipeline.observe.run_log import LOGGER, LogFormat, log_is_complete, logs_json, set_up_log
from tests.support.observe.captured_log import LogRecords, captured_log

ROOT = Path(__file__).parents[4]


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restore the process's logger after each test."""
    monkeypatch.setattr(run_log, "redact", Redaction(["hunter2", "123456", "shop"], {}))
    with captured_log():
        yield


def logged(kind: LogFormat, stream: io.StringIO | None = None, **options: bool) -> str:
    """The lines of a finished batch, a fault and a warning in one run, and of a later event."""
    screen = stream or io.StringIO()
    set_up_log("text", stream=io.StringIO())  # a second time must not double the lines
    set_up_log(kind, screen, **options)
    with begin("shop") as run:
        run.id = "r1"
        say("batch_finished", "bronze: batch 3: done", layer="bronze", batch=3, seconds=1.5)
        say("fault", 'the key "hunter2" is wrong', level=logging.WARNING, layer="gold")
        say("record_not_written", "no space", level=logging.WARNING, at=None)
    say("later", "of no run", at=datetime(2026, 11, 22, tzinfo=timezone.utc), of=("a", "b"))
    return screen.getvalue()


def test_json_is_an_object_a_line_with_the_fields_of_its_event() -> None:
    batch, fault, record, later = map(json.loads, logged("json").splitlines())
    written = datetime.fromisoformat(batch.pop("time"))
    assert written.utcoffset() is not None
    assert abs((datetime.now(timezone.utc) - written).total_seconds()) < 60
    assert batch == {
        "level": "INFO",
        "logger": "binlake",
        "message": "bronze: batch 3: done",
        "event": "batch_finished",
        "run_id": "r1",
        "source": "shop",
        "layer": "bronze",
        "batch": 3,
        "seconds": 1.5,
    }
    assert (fault["level"], fault["message"]) == ("WARNING", 'the key "***" is wrong')
    assert "at" not in record
    assert (later["at"], later["of"]) == ("2026-11-22T00:00:00+00:00", ["a", "b"])
    assert "run_id" not in later
    assert logs_json()


def test_text_has_the_fields_after_the_message() -> None:
    batch, fault, _, later = logged("text").splitlines()
    assert batch.split(" ", 1)[1] == (
        "INFO bronze: batch 3: done event=batch_finished run_id=r1 source=shop"
        " layer=bronze batch=3 seconds=1.500"
    )
    assert datetime.strptime(batch.split()[0], "%Y-%m-%dT%H:%M:%S.%fZ")
    assert ' WARNING the key "***" is wrong event=fault ' in fault
    assert later.endswith("event=later at=2026-11-22T00:00:00+00:00 of=a,b")
    assert not logs_json()


def test_a_terminal_has_only_what_is_shown_nowhere_else() -> None:
    assert logged("text", Terminal()) == "binlake: no space\n"
    assert len(logged("json", Terminal()).splitlines()) == 4


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("kind", ["json", "text"])
def test_quiet_has_warnings_and_faults_alone(kind: LogFormat, terminal: bool) -> None:
    lines = logged(kind, Terminal() if terminal else None, quiet=True).splitlines()
    assert ['the key "***" is wrong' in line.replace("\\", "") for line in lines] == [True, False]
    assert "no space" in lines[1]
    assert log_is_complete()
    if kind == "text" and terminal:
        assert lines[1] == "binlake: no space"


def test_verbose_has_every_line_also_on_a_terminal() -> None:
    assert len(logged("text", Terminal(), verbose=True).splitlines()) == 4
    assert log_is_complete()


@pytest.mark.parametrize(
    ("kind", "terminal", "options", "complete"),
    [
        ("text", True, {}, False),
        ("text", False, {}, True),
        ("json", True, {}, True),
        ("text", True, {"quiet": True}, True),
        ("text", True, {"verbose": True}, True),
    ],
)
def test_faults_are_left_to_the_report_on_a_terminal_only(
    kind: LogFormat, terminal: bool, options: dict[str, bool], complete: bool
) -> None:
    assert set_up_log(kind, Terminal() if terminal else io.StringIO(), **options) is complete
    assert log_is_complete() is complete


@pytest.mark.parametrize("kind", ["json", "text"])
def test_an_error_has_its_stack_trace(kind: LogFormat) -> None:
    screen = io.StringIO()
    set_up_log(kind, stream=screen)
    try:
        raise ValueError("odd \n one")
    except ValueError as error:
        say("run_failed", "it failed", trace=error, error_type="ValueError", words="two words")
    output = screen.getvalue()
    assert "in test_an_error_has_its_stack_trace" in output
    if kind == "json":
        assert "ValueError: odd" in json.loads(output)["exc_info"]
    else:
        assert 'words="two words"\nTraceback' in output


def test_secrets_are_hidden_in_texts_and_nothing_else_is_changed() -> None:
    screen = io.StringIO()
    set_up_log("json", screen)
    with begin("shop"):
        say("batch_finished", "of 123456", bytes=123456, words=["hunter2", "1234567"], hunter2="x")
    line = json.loads(screen.getvalue())
    assert (line["message"], line["bytes"], line["hunter2"]) == ("of ***", 123456, "x")
    assert (line["source"], line["words"]) == ("shop", ["***", "1234567"])


def test_other_handlers_get_no_secrets() -> None:
    theirs = LogRecords()
    theirs.setFormatter(logging.Formatter("%(message)s"))
    LOGGER.handlers = [theirs]
    try:
        raise ValueError("not with hunter2")
    except ValueError as error:
        say("run_failed", "failed with hunter2", trace=error, error="of hunter2")
    (line,) = theirs.lines
    assert (line["message"], line["error"]) == ("failed with ***", "of ***")
    assert "not with ***" in line["exc_text"]
    assert "hunter2" not in str(line)


@pytest.mark.parametrize("kind", ["json", "text"])
def test_warnings_of_libraries_are_logged_except_py4js(kind: LogFormat) -> None:
    screen = io.StringIO()
    set_up_log(kind, screen)
    logging.getLogger("fsspec").warning("retried with %s", "hunter2")
    interrupted = logging.makeLogRecord({"msg": "KeyboardInterrupt while sending command."})
    interrupted.levelno, interrupted.pathname = logging.ERROR, "site-packages/py4j/java_gateway.py"
    logging.getLogger().handle(interrupted)
    (output,) = screen.getvalue().splitlines()
    assert "retried with ***" in output
    if kind == "json":
        assert json.loads(output)["logger"] == "fsspec"


def test_the_manual_documents_every_event() -> None:
    code = "".join(file.read_text() for file in (ROOT / "pipeline").rglob("*.py"))
    events = {*re.findall(r'\bsay\(\s*"(\w+)"', code), *re.findall(r'\._say\(\s*"(\w+)"', code)}
    assert {"run_started", "plan_resumed", "progress", "failed"} < events
    manual = (ROOT / "docs" / "reference" / "log.md").read_text()
    assert not [event for event in events if f"`{event}`" not in manual]
