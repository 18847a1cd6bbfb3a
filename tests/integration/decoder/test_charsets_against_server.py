"""Every character of every charset, against the server's own CONVERT."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from decoder.columns.charsets import charset_of, is_multi_byte
from decoder.columns.charsets.collations import COLLATIONS
from decoder.columns.charsets.multi_byte import DEVIATIONS, EUC_TRIPLE, GB18030_BMP
from decoder.columns.charsets.single_byte import SINGLE_BYTE
from decoder.constants import ColumnType as T
from tests.support.decoder.cells import column, read

if TYPE_CHECKING:
    from tests.support.servers.mariadb import MariaDBServer
    from tests.support.servers.mysql import MySQLServer
    from tests.support.servers.server import Server

CODES_A_QUERY = 1500


def converted(server: Server, charset: str, codes: list[bytes]) -> list[str | None]:
    """Return each code's character as the server converts it, or None if it has none."""
    texts: list[str] = []
    with server.connect() as connection, connection.cursor() as cursor:
        for start in range(0, len(codes), CODES_A_QUERY):
            part = codes[start : start + CODES_A_QUERY]
            expressions = ", ".join(
                f"HEX(CONVERT(CONVERT(_binary 0x{code.hex()} USING {charset}) USING utf32))"
                for code in part
            )
            cursor.execute(f"SELECT {expressions}")
            texts += [bytes.fromhex(cell or "").decode("utf-32-be") for cell in cursor.fetchone()]
    return [
        text if len(text) == 1 and text != "�" and (text != "?" or code == b"?") else None
        for code, text in zip(codes, texts, strict=True)
    ]


def decoded(charset: str, codes: Iterable[bytes]) -> list[str | None]:
    """Return each code's character as the column reader decodes it, or None if the row is lossy."""
    collation = int(COLLATIONS[charset].split()[0].partition("-")[0])
    assert charset_of(collation) == charset
    definition = column(T.VARCHAR, length=4, length_bytes=1, collation=collation)
    found = read(definition, list(codes))
    texts = found.array.to_pylist()
    lossy = set(found.lossy.tolist())
    return [
        None if row in lossy or text == "�" or len(text) != 1 else text
        for row, text in enumerate(texts)
    ]


def multi_byte_codes(charset: str) -> Iterator[bytes]:
    yield from (bytes([byte]) for byte in range(256))
    yield from (bytes([lead, trail]) for lead in range(0x80, 256) for trail in range(0x30, 256))
    if charset in ("ujis", "eucjpms"):
        yield from (
            bytes([EUC_TRIPLE, second, third])
            for second in range(0xA0, 256)
            for third in range(0xA0, 256)
        )
    if charset == "gb18030":
        for linear in (*range(GB18030_BMP), *range(189000, 189000 + 0x100000, 9973)):
            rest, fourth = divmod(linear, 10)
            rest, third = divmod(rest, 126)
            first, second = divmod(rest, 10)
            yield bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + fourth])


def different(
    server: Server, charset: str, codes: list[bytes]
) -> list[tuple[str, str | None, str | None]]:
    """Return the first codes whose character differs, with ours and the server's."""
    expected = converted(server, charset, codes)
    found = decoded(charset, codes)
    pairs = zip(codes, found, expected, strict=True)
    return [(code.hex(), ours, theirs) for code, ours, theirs in pairs if ours != theirs][:5]


@pytest.mark.parametrize("charset", sorted(SINGLE_BYTE))
@pytest.mark.parametrize("server", ["mysql", "mariadb"])
def test_every_byte_of_one_byte_charsets(
    server: str, charset: str, request: pytest.FixtureRequest
) -> None:
    codes = [bytes([byte]) for byte in range(256)]
    assert different(request.getfixturevalue(server), charset, codes) == []


@pytest.mark.parametrize("charset", sorted(DEVIATIONS))
def test_every_code_of_multi_byte_charsets(mysql: MySQLServer, charset: str) -> None:
    assert different(mysql, charset, list(multi_byte_codes(charset))) == []


@pytest.mark.parametrize("charset", sorted(set(DEVIATIONS) - {"gb18030"}))
def test_every_code_of_mariadbs_multi_byte_charsets(mariadb: MariaDBServer, charset: str) -> None:
    assert different(mariadb, charset, list(multi_byte_codes(charset))) == []


def test_the_collations_are_the_servers(mysql: MySQLServer) -> None:
    server = mysql.execute("SELECT id, character_set_name FROM information_schema.collations")
    assert {int(i): charset_of(int(i)) for i, _ in server} == {int(i): name for i, name in server}


@pytest.mark.parametrize("server", ["mariadb", "newest_mariadb"])
def test_the_collations_are_mariadbs(server: str, request: pytest.FixtureRequest) -> None:
    ids = request.getfixturevalue(server).execute(
        "SELECT id, character_set_name"
        " FROM information_schema.collation_character_set_applicability"
    )
    assert max(number for number, _ in ids) > 2048
    assert {number: charset_of(number) for number, _ in ids} == dict(ids)


def test_every_charset_has_a_decoder(mysql: MySQLServer) -> None:
    server = {
        name
        for (name,) in mysql.execute(
            "SELECT character_set_name FROM information_schema.character_sets"
        )
    }
    unicode = {"utf8mb4", "utf8mb3", "ucs2", "utf16", "utf16le", "utf32", "binary"}
    assert server == {*SINGLE_BYTE, *filter(is_multi_byte, DEVIATIONS), *unicode}
