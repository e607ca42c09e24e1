"""
ISO-2022-JP and EUC-JP with the characters of NEC and IBM, which Python's codecs lack.

The Encoding Standard decodes both by one table of JIS X 0208, which holds these characters; it is
the table of Windows-31J, whose codec Python has.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

_ESCAPE = re.compile(rb"\x1b(\([BJIH]|\$[@AB]|\$\([CD@])")
_INVALID = "\x80"  # of Windows-31J, which no pair is
_RUNS_OF_EUC = re.compile(
    rb"((?:[\xa1-\xfe][\xa1-\xfe])+)|((?:\x8e[\xa1-\xdf])+)|((?:\x8f[\xa1-\xfe]{2})+)"
    rb"|([\x00-\x7f]+)|([\x80-\xff])",
    re.DOTALL,
)


def _decode_iso2022(content: bytes) -> str:
    return "".join(_runs_of_iso2022(content))


def _runs_of_iso2022(content: bytes) -> Iterator[str]:
    pieces = [b"(B", *_ESCAPE.split(content)]  # each escape before what follows it
    for escape, run in zip(pieces[::2], pieces[1::2], strict=True):
        if escape in (b"$@", b"$B"):
            # A line end stands for the return to ASCII.
            pairs, line_end, rest = _until_line_end(run)
            yield _decode_pairs(pairs)
            yield (line_end + rest).decode("ascii", "replace")
        elif escape == b"(I":
            yield bytes(sign | 0x80 if 0x21 <= sign <= 0x5F else sign for sign in run).decode(
                "cp932", "replace"
            )
        elif escape in (b"(B", b"(J", b"(H"):
            yield run.decode("ascii", "replace")
        else:
            yield (b"\x1b" + escape + run + b"\x1b(B").decode("iso2022_jp_2", "replace")


def _until_line_end(run: bytes) -> tuple[bytes, bytes, bytes]:
    match = re.search(rb"[\r\n]", run)
    if match is None:
        return run, b"", b""
    return run[: match.start()], match[0], run[match.end() :]


def _decode_pairs(pairs: bytes) -> str:
    """Decode pairs of seven bits of JIS X 0208."""
    return b"".join(_shifted(pairs)).decode("cp932", "replace").replace(_INVALID, "\ufffd")


def _shifted(pairs: bytes) -> Iterator[bytes]:
    """Yield each pair as Shift_JIS; JIS X 0208, appendix 1."""
    at = 0
    while at < len(pairs):
        first, second = pairs[at], pairs[at + 1] if at + 1 < len(pairs) else 0
        if not (0x21 <= first <= 0x7E and 0x21 <= second <= 0x7E):
            yield bytes((first,)) if first <= 0x20 else _INVALID.encode("latin-1")
            at += 1
            continue
        lead = (first - 0x21) // 2 + (0x81 if first < 0x5F else 0xC1)
        odd = second + (0x1F if second < 0x60 else 0x20)
        trail = odd if first % 2 else second + 0x7E
        yield bytes((lead, trail))
        at += 2


def _decode_euc(content: bytes) -> str:
    return "".join(map(_decode_run_of_euc, _RUNS_OF_EUC.finditer(content)))


def _decode_run_of_euc(match: re.Match[bytes]) -> str:
    if match[1]:
        return _decode_pairs(bytes(sign & 0x7F for sign in match[1]))
    return match[0].decode("euc_jp", "replace")


DECODERS: Mapping[str, Callable[[bytes], str]] = MappingProxyType(
    {
        "iso2022_jp": _decode_iso2022,
        "iso2022_jp_1": _decode_iso2022,
        "iso2022_jp_2": _decode_iso2022,
        "euc_jp": _decode_euc,
    }
)
