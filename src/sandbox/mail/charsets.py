"""Text of mail by its charset: labels mean what the Encoding Standard says."""

import codecs
import re
from types import MappingProxyType

_LABELS = MappingProxyType(
    {
        "gb2312": "gb18030",
        "gbk": "gb18030",
        "x-gbk": "gb18030",
        "shift_jis": "cp932",
        "x-sjis": "cp932",
        "euc_kr": "cp949",
        "windows-949": "cp949",
        "big5": "cp950",
        "euc_jp": "euc_jis_2004",
        "iso8859-1": "cp1252",
        "ascii": "cp1252",
        "iso8859-9": "cp1254",
        "iso8859-11": "cp874",
        "tis-620": "cp874",
        "windows-874": "cp874",
        "iso-8859-8-i": "iso8859-8",
        "iso-8859-8-e": "iso8859-8",
        "iso-8859-6-i": "iso8859-6",
    }
)
_WIDE = ("utf", "gb", "cp932", "cp949", "cp950", "euc", "iso2022", "hz", "big5", "shift")
_JIS = re.compile(rb"\x1b\$[@B]([^\x1b\r\n]*)(?:\x1b\([BJ])?")
_SURROGATES = re.compile("[\ud800-\udfff]")  # UTF-7 can express them
_META = re.compile(rb"""(?i)<meta\b[^<>]{0,300}?charset\s*=\s*["']?([\w:.-]+)""")


def decode(data: bytes, label: str | None, *, is_html: bool = False) -> str:
    """Return the text of bytes; an unknown charset or an invalid byte raises nothing."""
    codec = _codec(label)
    if codec is None and is_html and (meta := _META.search(data[:4096])):
        codec = _codec(meta[1].decode("ascii", "replace"))
    if codec in (None, "iso2022_jp", "cp1252") and data.isascii() and _JIS.search(data):
        # JIS X 0213 has the characters of NEC that senders write as JIS X 0208.
        return _JIS.sub(_to_euc, data).decode("euc_jis_2004", "replace")
    if codec is None or not codec.startswith(_WIDE):
        try:
            return data.decode("utf-8")
        except ValueError:
            codec = codec or "cp1252"
    return _SURROGATES.sub("\ufffd", data.decode(codec, "replace"))


def is_known(label: str) -> bool:
    """Whether a label names a charset."""
    return _codec(label) is not None


def _to_euc(run: re.Match[bytes]) -> bytes:
    return bytes(sign | 0x80 for sign in run[1])


def _codec(label: str | None) -> str | None:
    name = (label or "").strip(" \"'").lower()
    try:
        name = codecs.lookup(_LABELS.get(name, name)).name
        b"a".decode(name, "replace")
    except (LookupError, ValueError):
        return None
    return _LABELS.get(name, name)
