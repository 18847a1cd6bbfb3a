"""The arguments of `binlake-task` for a task's options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHECK = ("status", "--check")
_LOG_JSON = frozenset(
    {"run", "ingest", "decode", "apply", "retry", "maintain", "capture", "seed", "verify"}
)
"""Commands that accept `--log json`."""


def command_line(command: tuple[str, ...], conf: str, options: Mapping[str, Any]) -> list[str]:
    """Return the arguments, such as `ingest --conf=shop.yml --log=json`, with the options set.

    Values arrive as Jinja renders them: an option that is empty, `None` or `False` is omitted, and
    `True` makes it a flag. A list repeats the option for each of its elements.
    """
    log = {"--log": "json"} if command[0] in _LOG_JSON else {}
    return [
        *command,
        *(
            name if value == "True" else f"{name}={value}"
            for name, values in {"--conf": conf, **log, **options}.items()
            for value in map(str, values if isinstance(values, list | tuple) else [values])
            if value not in ("", "False", "None")
        ),
    ]
