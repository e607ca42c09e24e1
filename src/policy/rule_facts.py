"""`Facts` about one resource, and the stored `Rule` that is matched with them."""

from enum import Enum, auto
from typing import Final, Literal, TypeAlias

import msgspec

from policy.vocabulary import RuleAction, RuleType


class UnknownFact(Enum):
    """Marker of a fact that upstream did not report."""

    UNKNOWN = auto()


UNKNOWN: Final = UnknownFact.UNKNOWN
TextFact: TypeAlias = str | Literal[UnknownFact.UNKNOWN] | None

ROOT = "root"  # a library's root folder in folder rules; docs/spec/rules.md#library-roots

# An item id within its drive; item ids are unique only there.
ItemKey = tuple[str, str]


class Rule(msgspec.Struct, frozen=True):
    """A stored rule; *pattern* is in raw form (see `policy.patterns`)."""

    id: int
    rule_type: RuleType
    pattern: str
    action: RuleAction


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """
    Facts about one resource. None or empty: it has none. UNKNOWN: upstream did not report it.

    A library's file and its list item are the same resource; where upstream reports both, both are
    filled in, and rules about either apply (docs/spec/rules.md#file-and-list-item).

    Attributes:
        item: Drive and item id of a file or folder; UNKNOWN for a list item whose file was not
            reported.
        drive_id: The library that contains it, or that it is.
        ancestors: Every folder above it, the library's root included.
        site_id: Composite id of the site that contains it, or that it is; lower case.
        list_id: GUID of the list that contains it, or that it is; lower case.
        list_item_id: Its number in the list.
        mime_type: Lower case, without parameters; None for anything but a file.
        label_ids: Sensitivity labels; lower case.
        content_type_id: Of a list item; compared case-insensitively.
    """

    item: ItemKey | Literal[UnknownFact.UNKNOWN] | None = None
    drive_id: TextFact = None
    ancestors: frozenset[ItemKey] | Literal[UnknownFact.UNKNOWN] = frozenset()
    site_id: TextFact = None
    list_id: TextFact = None
    list_item_id: TextFact = None
    mime_type: TextFact = None
    label_ids: frozenset[str] | Literal[UnknownFact.UNKNOWN] = frozenset()
    content_type_id: TextFact = None
