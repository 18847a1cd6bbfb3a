"""Names of faces, which are imported on first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

import decoder
from decoder import model

LIGHT = """
import sys
from decoder import TypeOptions
import decoder.columns, decoder.stream, decoder.transactions
from decoder.model import ColumnDefinition
print({"numba", "pyarrow"} & {*sys.modules})
"""


def test_a_name_and_a_module_are_what_a_face_shows() -> None:
    assert decoder.TableDefinition is model.definition.TableDefinition
    assert decoder.schemas is model.schemas


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'decoder' has no attribute 'nothing'"):
        getattr(decoder, "nothing")  # noqa: B009 - mypy knows that it is not there


def test_light_names_load_nothing_heavy() -> None:
    ran = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"
