"""Secrets that settings do not hold: from an environment variable, or a file's first line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pipeline.errors import SettingsError
from pipeline.observe import redact


def read_secret(
    variable: str,
    file: str | None,
    *,
    key: str,
    environment: Mapping[str, str] = os.environ,
) -> str | None:
    """Return the secret in an environment variable, or else in a file that the setting `key` names;
    None without either. From now on it is redacted in all output.

    Raises SettingsError if the file cannot be read.
    """
    secret = environment.get(variable)
    if secret is None and file is not None:
        secret = first_line(file, key=key)
    redact.learn([secret] if secret else [])
    return secret or None


def first_line(file: str, *, key: str) -> str:
    """Return the first line of a file that the setting `key` names.

    Raises SettingsError if it is empty or cannot be read.
    """
    try:
        with Path(file).open(encoding="utf-8") as lines:
            line = lines.readline().rstrip("\r\n")
    except OSError as error:
        remedy = "Check the path, and that this user can read it."
        reason = f"{file} cannot be read: {error.strerror}."
        raise SettingsError(reason, key=key, remedy=remedy) from error
    except UnicodeDecodeError:
        # Not chained: its message quotes the undecodable bytes.
        remedy = "Save the file as UTF-8."
        raise SettingsError(f"{file} is not text in UTF-8.", key=key, remedy=remedy) from None
    if not line:
        remedy = "Put the password or token there; if there is none, remove the setting."
        raise SettingsError(f"the first line of {file} is empty.", key=key, remedy=remedy)
    return line
