"""Errors: their sentences and exit codes."""

from __future__ import annotations

from signal import SIGINT, SIGTERM

import pytest

from decoder import BinlogError
from pipeline.errors import (
    INTERRUPTED_SENTENCE,
    LONGEST,
    ConcurrentRunError,
    Interrupted,
    SettingsError,
    exit_code_of,
    sentence_of,
)

TASK = """Job aborted due to stage failure: Task 0 in stage 1.0 failed
Traceback (most recent call last):
  File "worker.py", line 9, in main
    process()
decoder.errors.BinlogError: binlog.000001, position 4: damaged.

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
"""
JAVA = """An error occurred.
: java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.<init>(FileOutputStream.java:1)
\tat org.apache.spark.Main.main(Main.java:2)
"""
ROOT = "Caused by: java.io.IOException: No space left on device"
CAUSED = f"""Job aborted.
\tat org.apache.spark.Main.run(Main.java:2)
Caused by: SparkException: Task failed.
\tat org.apache.spark.Task.run(Task.java:1)
\t... 3 more
{ROOT}
\tat java.base/java.io.FileOutputStream.write(FileOutputStream.java:1)
\t... 9 more
"""


class GoneError(Exception):
    """An error whose text cannot be fetched, like that of a lost JVM."""

    def __str__(self) -> str:
        raise ConnectionRefusedError


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (SettingsError("is none.", key="lake", remedy="Name one."), "lake: is none. Name one."),
        (RuntimeError(TASK), "decoder.errors.BinlogError: binlog.000001, position 4: damaged."),
        (RuntimeError(JAVA), "An error occurred. : java.io.IOException: No space left on device"),
        (
            RuntimeError(CAUSED),
            f"Job aborted. Caused by: SparkException: Task failed. {ROOT}",
        ),
        (GoneError(), "GoneError"),
        (BinlogError("odd", file="log.000001", position=4), "log.000001, position 4: odd"),
        (KeyError(), "KeyError"),
        (KeyboardInterrupt(), INTERRUPTED_SENTENCE),
        (Interrupted(SIGTERM), INTERRUPTED_SENTENCE),
    ],
)
def test_an_errors_sentence_has_no_stack_traces(error: BaseException, sentence: str) -> None:
    assert sentence_of(error).removeprefix("RuntimeError: ") == sentence


def test_long_messages_are_shortened() -> None:
    shortened = sentence_of(ValueError("word " * 1000))
    assert (len(shortened), shortened[-1]) == (LONGEST, "…")
    shortened = sentence_of(ValueError("word " * 1000 + CAUSED))
    assert len(shortened) <= LONGEST
    assert shortened.endswith(f"… {ROOT}")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SettingsError("wrong"), 2),
        (ConcurrentRunError("another"), 1),
        (BinlogError("damaged"), 1),
        (KeyboardInterrupt(), 130),
        (Interrupted(SIGINT), 130),
        (Interrupted(SIGTERM), 143),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code_of(error) == code
