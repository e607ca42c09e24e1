"""
Names of files and folders: their form, and the media types that a name says.

A provider derives the type of a file from its name, whatever the upload announced, so rules judge
both: docs/spec/rules.md#types-of-new-files.
"""

import mimetypes
import re
from functools import cache

from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code
from providers.records.collab import media_type

MAX_NAME = 255  # characters; docs/spec/collab.md#names
_ANY_BYTES = "application/octet-stream"
_FORBIDDEN = frozenset('"*:<>?/\\|')
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
)
_RESERVED = frozenset({".lock", "desktop.ini"})
# type/subtype, each a token (RFC 9110, 8.3.1): nothing else can be sent upstream.
_MEDIA_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]{1,127}/[!#$%&'*+.^_`|~0-9a-z-]{1,127}")
_OFFICE = "application/vnd.openxmlformats-officedocument"
_MACROS = "macroEnabled.12"
# Ending -> a type that the standard library lacks.
_MORE_TYPES = (
    (".7z", "application/x-7z-compressed"),
    (".docm", f"application/vnd.ms-word.document.{_MACROS}"),
    (".docx", f"{_OFFICE}.wordprocessingml.document"),
    (".dotx", f"{_OFFICE}.wordprocessingml.template"),
    (".eml", "message/rfc822"),
    (".epub", "application/epub+zip"),
    (".heic", "image/heic"),
    (".md", "text/markdown"),
    (".msg", "application/vnd.ms-outlook"),
    (".odp", "application/vnd.oasis.opendocument.presentation"),
    (".ods", "application/vnd.oasis.opendocument.spreadsheet"),
    (".odt", "application/vnd.oasis.opendocument.text"),
    (".one", "application/msonenote"),
    (".potx", f"{_OFFICE}.presentationml.template"),
    (".ppsx", f"{_OFFICE}.presentationml.slideshow"),
    (".pptm", f"application/vnd.ms-powerpoint.presentation.{_MACROS}"),
    (".pptx", f"{_OFFICE}.presentationml.presentation"),
    (".rar", "application/vnd.rar"),
    (".rtf", "application/rtf"),
    (".vsdx", "application/vnd.ms-visio.drawing"),
    (".webp", "image/webp"),
    (".xlsb", f"application/vnd.ms-excel.sheet.binary.{_MACROS}"),
    (".xlsm", f"application/vnd.ms-excel.sheet.{_MACROS}"),
    (".xlsx", f"{_OFFICE}.spreadsheetml.sheet"),
    (".xltx", f"{_OFFICE}.spreadsheetml.template"),
)
_COMPRESSED = {
    "gzip": ("application/gzip", "application/x-gzip"),
    "bzip2": ("application/x-bzip2", "application/bzip2"),
    "xz": ("application/x-xz",),
    "compress": ("application/x-compress",),
    "br": ("application/x-brotli",),
}


def find_name_problem(name: str) -> str | None:
    """Return what is wrong with the name of a file or folder; None when it may have it."""
    if not 1 <= len(name) <= MAX_NAME:
        return f"It must have 1 to {MAX_NAME} characters."
    if any(char in _FORBIDDEN or ord(char) < 32 or 127 <= ord(char) < 160 for char in name):
        return 'It must not contain " * : < > ? / \\ | or control characters.'
    if name in (".", "..") or name.strip() != name:
        return "It must not be '.' or '..', and must not begin or end with a space."
    lower = name.lower()
    is_device = lower.partition(".")[0] in _DEVICES
    if is_device or lower in _RESERVED or lower.startswith("~$") or "_vti_" in lower:
        return "The provider reserves this name."
    return None


def types_by_name(name: str) -> frozenset[str]:
    """Return every media type that a file of this name may get, in lower case; at least one."""
    types: set[str] = set()
    for strict in (True, False):
        guess, encoding = _types().guess_type(name, strict=strict)
        types.update(_COMPRESSED.get(encoding or "", ()))
        types.update({guess.lower()} if guess else ())
    return frozenset(types or {_ANY_BYTES})


def resolve_media_type(mime_type: str | None, *, announced: str | None, name: str) -> str:
    """
    Return the media type of an upload: the argument, the announced one, or a guess by *name*.

    Raises:
        InvalidInput: *mime_type* is not a media type. An invalid *announced* one counts as absent.
    """
    resolved = media_type(mime_type)
    if resolved is not None and not _MEDIA_TYPE.fullmatch(resolved):
        problem = "It must be a type and a subtype, like text/plain."
        raise InvalidInput(
            f"mimeType: {problem}",
            code=Code.VALIDATION_ERROR,
            details=[Detail("mimeType", problem)],
        )
    declared = media_type(announced)
    if resolved is None and declared is not None and _MEDIA_TYPE.fullmatch(declared):
        resolved = declared
    if resolved in (None, _ANY_BYTES):
        guess = _types().guess_type(name)[0]
        resolved = guess.lower() if guess else None
    return resolved or _ANY_BYTES


@cache
def _types() -> mimetypes.MimeTypes:
    """Return the types of the standard library and those it lacks: every host decides alike."""
    types = mimetypes.MimeTypes()
    for ending, media in _MORE_TYPES:
        types.add_type(media, ending)
    return types
