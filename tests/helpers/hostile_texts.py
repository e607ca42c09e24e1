"""Texts that are costly to fold, split, parse or compare: a unit that is repeated to a length."""

from collections.abc import Mapping

UNITS: Mapping[str, str] = {
    "emoji": "\U0001f600",
    "ligatures": "\ufdfa",  # 18 characters by NFKC
    "marks": "\u0301",
    "marks in two orders": "\u0315\u0300",
    "letters with marks": "e\u0301",
    "jamo": "\u1100\u1161",
    "sharp s": "\u00df",  # two characters when its case is folded
    "dotted I": "\u0130",
    "joiners": "\u200d",
    "ideographs": "漢",
    "blanks": " ",
    "words": "a ",
    "quotes": '"',
    "phrases": '"a" ',
    "commas": ",",
    "addresses": "a@b.example,",
    "domains": "a.",
    "brackets": "(",
    "fields": "a:b ",
    "wildcards": "*a",
    "comparisons": "a eq 1 and ",
    "backslashes": "\\",
    "markup": "<a&amp;",
}
FEW = ("emoji", "ligatures", "marks", "addresses")  # in CI, for every place
SIZES = (60_000, 1_000_000)  # bytes as UTF-8


def text_of(name: str, size: int) -> str:
    """Return the text of a name, of at most *size* bytes as UTF-8."""
    unit = UNITS[name]
    return unit * (size // len(unit.encode()))
