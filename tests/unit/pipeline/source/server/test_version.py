"""Parsing and comparing server versions."""

from __future__ import annotations

import pytest

from pipeline.source.server.version import ServerVersion


@pytest.mark.parametrize(
    ("text", "number", "is_mariadb", "name"),
    [
        ("5.7.44-log", (5, 7, 44), False, "MySQL 5.7.44"),
        ("8.0.36-28", (8, 0, 36), False, "MySQL 8.0.36"),
        ("9.7.0-u1-cloud", (9, 7, 0), False, "MySQL 9.7.0"),
        ("10.3.39-MariaDB-log", (10, 3, 39), True, "MariaDB 10.3.39"),
        ("5.5.5-10.11.8-MariaDB-1", (10, 11, 8), True, "MariaDB 10.11.8"),
    ],
)
def test_kind_and_numbers_are_read(
    text: str, number: tuple[int, int, int], is_mariadb: bool, name: str
) -> None:
    version = ServerVersion.read(text)
    assert (version.number, version.is_mariadb, version.name) == (number, is_mariadb, name)
    assert version.text == text


def test_text_without_a_version_is_refused() -> None:
    with pytest.raises(ValueError, match="'unknown' is not a server version"):
        ServerVersion.read("unknown")


@pytest.mark.parametrize(
    ("text", "is_since"),
    [
        ("8.0.0", True),
        ("8.0.13", True),
        ("5.7.44", False),
        ("10.5.2-MariaDB", True),
        ("10.5.1-MariaDB", False),
        ("10.3.39-MariaDB", False),
    ],
)
def test_versions_are_compared_within_their_product(text: str, is_since: bool) -> None:
    assert ServerVersion.read(text).since(mysql=(8, 0), mariadb=(10, 5, 2)) is is_since


def test_since_is_false_for_a_product_without_a_minimum_version() -> None:
    assert not ServerVersion.read("9.7.0").since(mysql=None, mariadb=(10, 2))
    assert not ServerVersion.read("11.8.0-MariaDB").since(mysql=(5, 7), mariadb=None)
