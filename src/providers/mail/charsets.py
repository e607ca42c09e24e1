"""
Decoding of mail bytes by their charset; the result can always be encoded as UTF-8.

Labels mean what the Encoding Standard of the WHATWG says, since senders write `gb2312` for GBK and
`iso-8859-1` for Windows-1252 (docs/spec/email.md#charsets, docs/adr/0031-one-reader-of-mail.md).
"""

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

# Codecs of Python rather than of mail: they interpret escapes, or take quadratic time.
_NO_CHARSETS = frozenset({"unicode-escape", "raw-unicode-escape", "punycode", "idna", "undefined"})
# Labels of the standard, and some that are reported of mail, that Python does not know.
_LABELS = MappingProxyType(
    {
        label: codec
        for codec, labels in {
            "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8 utf8mb4",
            "utf-7": "unicode-1-1-utf-7 unicode-2-0-utf-7",
            "iso8859-6": "csiso88596e csiso88596i iso-8859-6-e iso-8859-6-i",
            "iso8859-7": "sun_eu_greek",
            "iso8859-8": "csiso88598e iso-8859-8-e visual csiso88598i iso-8859-8-i logical",
            "iso8859-15": "csisolatin9",
            "koi8-r": "koi koi8",
            "koi8-u": "koi8-ru",
            "mac-roman": "csmacintosh mac",
            "mac-cyrillic": "mac-ukrainian",
            "cp874": "dos-874 windows-874",
            "gb18030": "csgb2312 gb_2312 gb_2312-80",
            "big5": "cn-big5 x-big5",
            "euc_jp": "cseucpkdfmtjapanese",
            "cp932": "windows-31j",
            "cp949": "cseuckr csksc56011987 iso-ir-149 ks_c_5601-1989 ksc_5601 windows-949",
            "utf-16-be": "unicodefffe",
            "utf-16": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
            "cp1252": "user-defined ansi",
        }.items()
        for label in labels.split()
    }
)
# What the standard decodes, by the codec that Python takes a label for.
_STANDARD = MappingProxyType(
    {
        "ascii": "cp1252",
        "iso8859-1": "cp1252",
        "iso8859-9": "cp1254",
        "iso8859-11": "cp874",
        "tis-620": "cp874",
        "gb2312": "gb18030",
        "gbk": "gb18030",
        "shift_jis": "cp932",
        "euc_kr": "cp949",
        "big5": "cp950",
        "iso2022_jp_ext": "iso2022_jp",
        "utf-8-sig": "utf-8",
    }
)
_SECOND_CHOICES = MappingProxyType({"cp950": "big5hkscs", "cp949": "johab"})
_STATEFUL = frozenset({"utf-7", "hz"})
_EAST_ASIAN = frozenset(
    {"gb18030", "cp932", "cp949", "cp950", "big5hkscs", "johab", "euc_jp", "shift_jisx0213"}
)
_UNICODE = ("utf-8", "utf-16", "utf-32", "utf-7")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_JAPANESE = re.compile(rb"\x1b\$[@B]")  # occurs in no other text of mail
_META = re.compile(
    rb"""<meta\b[^<>]{0,500}?\bcharset\s{0,9}=[\s"']{0,9}([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE
)
_META_BYTES = 4096  # of HTML in which the element is looked for
_ODD_SIGNS = " \t\r\n\"'`<>()\\;,"
_NAMES_AND_DIGITS = re.compile(r"(iso|cp|windows|win|ibm)[ _-]?(8859)?[ _-]?(\d{1,5})")
# Two bytes of valid UTF-8 are often a character of East Asian charsets, three of them hardly ever.
_THREE_BYTES = "\u0800"
# ISO-2022-JP and EUC-JP have the characters of NEC and IBM, which Python's codecs lack: both are
# decoded by the table of Windows-31J, as in the Encoding Standard.
_ESCAPE = re.compile(rb"\x1b(\([BJIH]|\$[@AB]|\$\([CD@])")
_EIGHT_BITS = bytes(sign | 0x80 for sign in range(256))
# Six characters that the tables of EUC-JP and of Windows-31J read differently.
_OF_WINDOWS = tuple(
    zip("\u301c\u2016\u2212\xa2\xa3\xac", "\uff5e\u2225\uff0d\uffe0\uffe1\uffe2", strict=True)
)
# Bytes of a text that may have them: longer ones are decoded by Python's codecs alone, with U+FFFD.
_MAX_JAPANESE = 256 * 1024
_INVALID = "\x80"  # of Windows-31J, which no pair is
_RUNS_OF_EUC = re.compile(
    rb"((?:[\xa1-\xfe][\xa1-\xfe])+)|((?:\x8e[\xa1-\xdf])+)|((?:\x8f[\xa1-\xfe]{2})+)"
    rb"|([\x00-\x7f]+)|([\x80-\xff])",
    re.DOTALL,
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode_or_utf8(
    content: bytes, charset: str | None, *, is_html: bool = False, is_cut: bool = False
) -> str:
    """
    Decode *content*; invalid bytes become U+FFFD.

    Args:
        content: The bytes of a text.
        charset: As the text names it; None or "" when it names none.
        is_html: Whether a `meta` element may name the charset that *charset* does not.
        is_cut: Whether the end is missing, which may be in the middle of a character.
    """
    for mark, codec_of_mark in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return _decode_by(codec_of_mark, content[len(mark) :])
    codec = find_codec(charset or "")
    if codec is not None and codec.startswith(("utf-16", "utf-32")) and b"\x00" not in content:
        codec = None  # a text of these charsets has a blank or a line end, which holds a NUL
    if content.isascii():
        if codec is None or not (_is_stateful(codec) or codec.startswith(_UNICODE)):
            codec = "iso2022_jp" if _JAPANESE.search(content) else "utf-8"
        return _decode_by(codec, content)
    if codec is None or codec == "utf-7" or not codec.startswith(_UNICODE):
        as_utf8 = _valid_utf8(content, is_cut=is_cut)
        if as_utf8 is not None and (
            codec not in _EAST_ASIAN
            or max(as_utf8) >= _THREE_BYTES
            or not _is_valid(content, codec, is_cut=is_cut)
        ):
            return as_utf8
    if is_html and (codec is None or is_unstated(charset)):
        codec = _codec_of_markup(content) or codec
    return _decode_by(codec or "utf-8", content)


def decode(content: bytes, charset: str) -> str:
    """
    Decode an encoded word or a parameter; invalid bytes become U+FFFD.

    Raises:
        LookupError: The charset is unknown or not allowed.
    """
    if find_codec(charset) is None:
        raise LookupError(charset)
    return decode_or_utf8(content, charset)


def is_stateful(charset: str) -> bool:
    """Return whether escapes in a text of the charset change the meaning of what follows."""
    return _is_stateful(find_codec(charset) or "")


@lru_cache(maxsize=512)
def find_codec(label: str) -> str | None:
    """Return the name of Python's codec that a label of a charset means; None: it is unknown."""
    name = label.strip(_ODD_SIGNS).lower()[:80]
    digits = _NAMES_AND_DIGITS.fullmatch(name.removeprefix("x-"))
    written = [name, name.removeprefix("x-x-").removeprefix("x-")]
    if digits is not None:
        kind = "iso8859-" if digits[2] else "cp"
        written.append(f"{kind}{digits[3]}")
    for spelling in written:
        try:
            codec = codecs.lookup(_LABELS.get(spelling, spelling)).name
            if codec in _NO_CHARSETS:
                continue
            b"a".decode(codec, "replace")  # others than those of texts raise
        except (LookupError, ValueError):
            continue
        return _STANDARD.get(codec, codec)
    return None


def is_unstated(label: str | None) -> bool:
    """Return whether there is no label, or the one that servers report of a text without one."""
    return not label or label.strip(_ODD_SIGNS).lower() in ("us-ascii", "ascii")


def is_utf8(content: bytes, *, is_cut: bool = False) -> bool:
    """Return whether all bytes are valid UTF-8, as ASCII is; *is_cut*: the end may be missing."""
    return content.isascii() or _valid_utf8(content, is_cut=is_cut) is not None


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-7 can encode and UTF-8 cannot."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _is_stateful(codec: str) -> bool:
    return codec in _STATEFUL or codec.startswith("iso2022")


def _decode_by(codec: str, content: bytes) -> str:
    decoder = _JAPANESE_DECODERS.get(codec)
    if decoder is not None and len(content) <= _MAX_JAPANESE:
        return replace_surrogates(decoder(content))
    second = _SECOND_CHOICES.get(codec)
    if second is not None and not _is_valid(content, codec) and _is_valid(content, second):
        codec = second
    return replace_surrogates(content.decode(codec, "replace"))


def _valid_utf8(content: bytes, *, is_cut: bool) -> str | None:
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(content, not is_cut)
    except ValueError:
        return None


def _is_valid(content: bytes, codec: str | None, *, is_cut: bool = False) -> bool:
    try:
        codecs.getincrementaldecoder(codec or "utf-8")().decode(content, not is_cut)
    except (LookupError, ValueError):
        return False
    return True


def _codec_of_markup(content: bytes) -> str | None:
    match = _META.search(content, 0, _META_BYTES)
    codec = None if match is None else find_codec(match[1].decode("ascii"))
    return None if codec is None or codec.startswith("utf-16") else codec


# -- Japanese


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
    try:
        text = pairs.translate(_EIGHT_BITS).decode("euc_jp")
    except ValueError:
        text = b"".join(_shifted(pairs)).decode("cp932", "replace")
        return text.replace(_INVALID, "\ufffd")
    for written, standard in _OF_WINDOWS:
        text = text.replace(written, standard)
    return text


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


_JAPANESE_DECODERS: Mapping[str, Callable[[bytes], str]] = MappingProxyType(
    {
        "iso2022_jp": _decode_iso2022,
        "iso2022_jp_1": _decode_iso2022,
        "iso2022_jp_2": _decode_iso2022,
        "euc_jp": _decode_euc,
    }
)
