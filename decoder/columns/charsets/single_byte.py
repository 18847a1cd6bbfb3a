"""Tables of single-byte charsets: byte to code point, as MySQL maps them.

As for the multi-byte ones, Python's codecs are corrected by `Deviations`. Checked against the
server's CONVERT in tests/integration/decoder/test_charsets_against_server.py.
"""

from __future__ import annotations

from functools import cache

from decoder.columns.arrays import Int32s
from decoder.columns.charsets.multi_byte import Deviations, code_points, decoder

SINGLE_BYTE = {
    "armscii8": Deviations(
        "latin-1",
        (
            ("a1", "❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկ"),
            ("d0", "ՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'"),
        ),
    ),
    "ascii": Deviations("ascii"),
    "cp1250": Deviations("cp1250"),
    "cp1251": Deviations("cp1251"),
    "cp1256": Deviations(
        "cp1256", tuple((code, "�") for code in ("8a", "8f", "98", "9a", "9f", "aa", "c0", "ff"))
    ),
    "cp1257": Deviations("cp1257"),
    "cp850": Deviations("cp850"),
    "cp852": Deviations("cp852"),
    "cp866": Deviations("cp866", (("fc", "ⁿ²"),)),
    "dec8": Deviations(
        "latin-1",
        (
            *((code, "�") for code in ("a4", "a6", "b4", "b8", "be", "d0", "de", "f0", "fe", "ff")),
            *(("a8", "¤"), ("ac", "����"), ("d7", "Œ"), ("dd", "Ÿ"), ("f7", "œ"), ("fd", "ÿ")),
        ),
    ),
    "geostd8": Deviations(
        "cp1252",
        (
            *(("83", "�"), ("88", "�"), ("8a", "�"), ("8c", "���"), ("98", "���"), ("9c", "����")),
            ("c0", "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ" + "�" * 23 + "№��"),
        ),
    ),
    "greek": Deviations("iso8859-7", (("a1", "ʽʼ"), ("a4", "��"), ("aa", "�"))),
    "hebrew": Deviations("iso8859-8", (("af", "‾"),)),
    "hp8": Deviations("hp-roman8"),
    "keybcs2": Deviations(
        "cp437", (("80", "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘť"), ("a4", "ňŇŮÔšřŕŔ"))
    ),
    "koi8r": Deviations("koi8-r"),
    "koi8u": Deviations("koi8-u", (("95", "•"),)),
    "latin1": Deviations(
        "cp1252",
        (("81", "\x81"), ("8d", "\x8d"), ("8f", "\x8f\x90"), ("9d", "\x9d")),
    ),
    "latin2": Deviations("iso8859-2"),
    "latin5": Deviations("iso8859-9"),
    "latin7": Deviations("iso8859-13"),
    "macce": Deviations("mac-latin2"),
    "macroman": Deviations("mac-roman"),
    "swe7": Deviations("ascii", (("40", "É"), ("5b", "ÄÖÅÜ"), ("60", "é"), ("7b", "äöåü�"))),
    "tis620": Deviations("tis-620"),
}


@cache
def single_byte(charset: str) -> Int32s:
    """Return the code point of each of the 256 bytes, −1 for a byte without a character."""
    deviations = SINGLE_BYTE[charset]
    table = code_points((bytes([byte]) for byte in range(256)), decoder(deviations.codec))
    for code, point in deviations.points():
        table[code] = point
    return table
