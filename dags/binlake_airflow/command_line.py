"""What of a task's options becomes arguments of `binlake-task`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CHECK = ("status", "--check")
_SPEAKING = frozenset({"run", "ingest", "decode", "apply", "retry", "maintain", "capture", "seed"})
"""Commands that can say what they do in JSON."""


def command_line(command: tuple[str, ...], conf: str, options: Mapping[str, Any]) -> list[str]:
    """`ingest --conf=shop.yml --log=json`, and the options that are set.

    Values come as Jinja renders them: an option that is empty or `False` is left out, and one that
    is `True` is a flag. One that is a list is given once for each.
    """
    spoken = {"--log": "json"} if command[0] in _SPEAKING else {}
    return [
        *command,
        *(
            name if value == "True" else f"{name}={value}"
            for name, given in {"--conf": conf, **spoken, **options}.items()
            for value in map(str, given if isinstance(given, list | tuple) else [given])
            if value not in ("", "False", "None")
        ),
    ]
