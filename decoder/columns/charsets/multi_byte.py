"""Tables of East Asian charsets: bytes to code point, as MySQL maps them.

Python's codecs of the same standards differ from MySQL in a few characters, so a table is built
from the codec on first use (tens of milliseconds) and corrected by `Deviations`. Checked against
the server's CONVERT in tests/integration/decoder/test_charsets_against_server.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from decoder.columns.arrays import Int32s

INVALID = -1
LEAD = -2
"""In `MultiByte.single`: this byte only starts a longer character."""
ROW = 94
"""Characters in a row of the JIS and EUC grids, whose bytes are 0xA1 to 0xFE."""
EUC_TRIPLE = 0x8F
"""Lead byte of the three-byte characters of ujis and eucjpms (JIS X 0212)."""
GB18030_SUPPLEMENTARY = 189000
"""Linear number of the four-byte code of U+10000."""
GB18030_BMP = 39420
"""Number of linear codes of the basic plane."""


class MultiByte(NamedTuple):
    """Code points by bytes; `INVALID` if MySQL has no character.

    `single[byte]`; `double[(lead - 0x80) << 8 | trail]`; `triple[(second - 0x80) << 7 | third -
    0x80]` after EUC_TRIPLE; `quad[linear number]` of gb18030's four-byte codes in the basic plane.
    `triple` and `quad` are empty for charsets without such characters.
    """

    single: Int32s
    double: Int32s
    triple: Int32s
    quad: Int32s


@dataclass(frozen=True, slots=True)
class Deviations:
    """Differences of MySQL from Python's codec.

    `runs`: (first code in hex, characters of the consecutive codes); U+FFFD means no character.
    """

    codec: str
    runs: tuple[tuple[str, str], ...] = ()
    user_defined: tuple[tuple[int, int, int], ...] = ()
    """(bytes before the trail byte, rows, first code point): rows of private-use characters."""

    def points(self) -> Iterator[tuple[int, int]]:
        """Yield each code of the runs with its code point, or INVALID."""
        for first, characters in self.runs:
            for code, character in enumerate(characters, int(first, 16)):
                yield code, INVALID if character == "�" else ord(character)


def _characters(code_points: str) -> str:
    return "".join(chr(int(point, 16)) for point in code_points.split())


_IBM_EXTENSIONS = (
    # Written as code points: normalization would change the compatibility ideographs among them.
    "2170 2171 2172 2173 2174 2175 2176 2177 2178 2179 2160 2161 2162 2163 2164 2165 "
    "2166 2167 2168 2169 FF07 FF02 3231 2116 2121 70BB 4EFC 50F4 51EC 5307 5324 FA0E "
    "548A 5759 FA0F FA10 589E 5BEC 5CF5 5D53 FA11 5FB7 6085 6120 654E 663B 6665 FA12 "
    "F929 6801 FA13 FA14 6A6B 6AE2 6DF8 6DF2 7028 FA15 FA16 7501 7682 769E FA17 7930 "
    "FA18 FA19 FA1A FA1B 7AE7 FA1C FA1D 7DA0 7DD6 FA1E 8362 FA1F 85B0 FA20 FA21 8807 "
    "FA22 8B7F 8CF4 8D76 FA23 FA24 FA25 90DE FA26 9115 FA27 FA28 9592 F9DC FA29 973B "
    "974D 9751 FA2A FA2B FA2C 999E 9AD9 9B72 FA2D 9ED1 "
)
_EUC_USER_DEFINED = ((0xF5, 10, 0xE000), (EUC_TRIPLE << 8 | 0xF5, 10, 0xE3AC))
DEVIATIONS = {
    "gbk": Deviations("gbk"),
    "gb2312": Deviations("gb2312"),
    "gb18030": Deviations("gb18030", (("a8bc", "ḿ"), ("8135f437", "\ue7c7"))),
    "sjis": Deviations("shift_jis", (("815f", "\\"),)),
    "cp932": Deviations("cp932", (("80", "�"), ("a0", "�"), ("fd", "���"))),
    "ujis": Deviations("euc_jp", (("a1c0", "\\"),), _EUC_USER_DEFINED),
    "eucjpms": Deviations(
        "euc_jp",
        (
            ("8fa2b7", "～"),
            ("8fa2c3", "￤"),
            ("8ff3f3", _characters(_IBM_EXTENSIONS)[:12]),
            ("8ff4a1", _characters(_IBM_EXTENSIONS)[12:]),
        ),
        _EUC_USER_DEFINED,
    ),
    "euckr": Deviations("cp949"),
    "big5": Deviations(
        "big5",
        (
            *((code, "�") for code in ("a15a", "a1c3", "a1c5", "a1fe", "a240", "a2cc", "a2ce")),
            ("f9d6", "碁銹裏墻恒粧嫺"),
        ),
    ),
}


@cache
def multi_byte(charset: str) -> MultiByte:
    """Return the tables of one of MySQL's multi-byte charsets, other than Unicode ones."""
    deviations = DEVIATIONS[charset]
    decode = decoder(deviations.codec)
    euc_triples = deviations.codec == "euc_jp"
    tables = MultiByte(
        single=code_points((bytes([byte]) for byte in range(256)), decode),
        double=code_points(
            (bytes([lead, trail]) for lead in range(0x80, 0x100) for trail in range(256)),
            _double_byte_decoder(charset, decode),
        ),
        triple=code_points(
            (
                bytes([EUC_TRIPLE, second, third])
                for second in range(0x80, 0x100)
                for third in range(0x80, 0x100)
                if euc_triples
            ),
            decode,
        ),
        quad=code_points(_gb18030_codes() if charset == "gb18030" else iter(()), decode),
    )
    _mark_leads(tables)
    _apply(deviations, tables)
    return tables


def decoder(codec: str) -> Callable[[bytes], int]:
    """Return a function from the bytes of a character to its code point, or INVALID."""

    def decode(code: bytes) -> int:
        try:
            text = code.decode(codec)
        except UnicodeDecodeError:
            return INVALID
        return ord(text) if len(text) == 1 else INVALID

    return decode


def _double_byte_decoder(charset: str, decode: Callable[[bytes], int]) -> Callable[[bytes], int]:
    """Return the decoder of two-byte codes: in eucjpms those of cp932, at the positions of EUC."""
    if charset != "eucjpms":
        return decode
    cp932 = decoder("cp932")

    def decode_eucjpms(code: bytes) -> int:
        lead, trail = code[0] - 0xA1, code[1] - 0xA1
        if not (0 <= lead < ROW and 0 <= trail < ROW):
            return decode(code)
        shifted_lead = lead // 2 + (0x81 if lead < 62 else 0xC1)
        shifted_trail = trail + 0x9F if lead % 2 else trail + 0x40 + (trail >= 63)
        return cp932(bytes([shifted_lead, shifted_trail]))

    return decode_eucjpms


def code_points(codes: Iterator[bytes], decode: Callable[[bytes], int]) -> Int32s:
    """Return the code point of each code."""
    return np.fromiter((decode(code) for code in codes), np.int32)


def gb18030_number(code: bytes) -> int:
    """Return the linear number of a four-byte code."""
    rows = (code[0] - 0x81) * 10 + code[1] - 0x30
    return rows * 1260 + (code[2] - 0x81) * 10 + code[3] - 0x30


def _gb18030_codes() -> Iterator[bytes]:
    for linear in range(GB18030_BMP):
        rest, fourth = divmod(linear, 10)
        rest, third = divmod(rest, 126)
        first, second = divmod(rest, 10)
        yield bytes([0x81 + first, 0x30 + second, 0x81 + third, 0x30 + fourth])


def _mark_leads(tables: MultiByte) -> None:
    leads = (tables.double.reshape(128, 256) >= 0).any(axis=1)
    tables.single[128:][leads & (tables.single[128:] == INVALID)] = LEAD
    if len(tables.triple):
        tables.single[EUC_TRIPLE] = LEAD
    if len(tables.quad):
        tables.single[0x81:0xFF] = LEAD


def _apply(deviations: Deviations, tables: MultiByte) -> None:
    for code, point in deviations.points():
        _set(tables, code, point)
    for first_row, rows, point in deviations.user_defined:
        for cell in range(rows * ROW):
            code = (first_row + cell // ROW) << 8 | 0xA1 + cell % ROW
            _set(tables, code, point + cell)
            tables.single[code >> (16 if code > 0xFFFF else 8)] = LEAD


def _set(tables: MultiByte, code: int, point: int) -> None:
    if code <= 0xFF:
        tables.single[code] = point
    elif code <= 0xFFFF:
        tables.double[code - 0x8000] = point
    elif code <= 0xFFFFFF:
        tables.triple[(code >> 8 & 0x7F) << 7 | code & 0x7F] = point
    else:
        tables.quad[gb18030_number(code.to_bytes(4, "big"))] = point
