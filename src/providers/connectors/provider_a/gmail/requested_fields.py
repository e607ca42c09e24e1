"""
Field masks for the wanted attributes: docs/spec/upstream/gmail.md#field-masks.

The members of every level of parts are named: a bare ``parts`` would include the body's bytes.
"""

from collections.abc import Set as AbstractSet
from functools import lru_cache

from providers.http.urls import SharedParams

LEVELS = 6  # of nested parts; nearly all mail has fewer
DEEP_LEVELS = 60  # for the rest; deeper parts are not read

HEADERS = {
    "subject": ("Subject",),
    "from_": ("From",),
    "to": ("To",),
    "cc": ("Cc",),
    "bcc": ("Bcc",),
    "sent_at": ("Date",),
    "importance": ("Importance", "X-Priority"),
}
_STRUCTURE = frozenset({"body", "body_type", "attachments", "has_attachments"})
_ALWAYS = "id,threadId,labelIds,internalDate"

Params = tuple[tuple[str, str], ...]


@lru_cache(maxsize=512)
def message(projection: AbstractSet[str], levels: int = LEVELS) -> Params:
    """Return the parameters of ``messages.get``."""
    return SharedParams(_format(projection, _mask(projection, levels)))


@lru_cache(maxsize=512)
def thread(projection: AbstractSet[str]) -> Params:
    """Return the parameters of ``threads.get``."""
    return SharedParams(_format(projection, f"id,messages({_mask(projection, LEVELS)})"))


def costly_attributes(projection: AbstractSet[str]) -> frozenset[str]:
    """Return the attributes that need the structure or the bytes of the parts."""
    return _STRUCTURE & projection


def _format(projection: AbstractSet[str], mask: str) -> Params:
    if costly_attributes(projection):
        return (("format", "full"), ("fields", mask))
    headers = [
        name for attribute, names in HEADERS.items() if attribute in projection for name in names
    ]
    if not headers:
        return (("format", "minimal"), ("fields", mask))
    return (
        ("format", "metadata"),
        *(("metadataHeaders", name) for name in headers),
        ("fields", mask),
    )


def _mask(projection: AbstractSet[str], levels: int) -> str:
    snippet = ",snippet" if "body_preview" in projection else ""
    return f"{_ALWAYS}{snippet}{_payload(projection, levels)}"


def _payload(projection: AbstractSet[str], levels: int) -> str:
    headers = "body" in projection or not HEADERS.keys().isdisjoint(projection)
    if not costly_attributes(projection):
        return ",payload(headers)" if headers else ""
    members = _members(projection)
    parts = f"parts({members})"
    for _ in range(levels - 1):
        parts = f"parts({members},{parts})"
    # The root's headers are the message's: they are requested only when one of them is wanted.
    root = members if headers else members.replace(",headers", "")
    return f",payload({root},{parts})"


def _members(projection: AbstractSet[str]) -> str:
    if "body" in projection:
        return "partId,mimeType,filename,headers,body(size,attachmentId,data)"
    if "attachments" in projection:
        return "partId,mimeType,filename,headers,body(size,attachmentId)"
    return "mimeType,filename,headers,body(size)"
