"""
Patterns of collab rules: the forms that are accepted and the raw form that is stored and matched.

Specified in docs/spec/rules.md#patterns.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from policy.refusals import InvalidInput
from policy.rule_facts import ROOT
from policy.vocabulary import Code, RuleAction, RuleType

MAX_PATTERN_LENGTH = 1024  # characters; docs/spec/rules.md#patterns

_GUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_PART = r"[A-Za-z0-9!_.\-]{1,256}"
_HOST = r"[A-Za-z0-9.\-]{1,253}"
_SITE = rf"{_HOST},{_GUID},{_GUID}"
_ITEM = re.compile(rf"(?:collab:drive:({_PART}):item:({_PART}))|(?:(?:({_PART}):)?({_PART}))")
_DRIVE = re.compile(rf"(?:collab:drive:)?({_PART})")
_SITE_ID = re.compile(rf"(?:collab:site:)?({_SITE})")
_LIST = re.compile(rf"(?:collab:site:{_SITE}:list:)?({_GUID})")
_LIST_ITEM = re.compile(
    rf"(?:(?:collab:site:{_SITE}:list:({_GUID}):item:)|(?:({_GUID}):))?([0-9]+)"
)
_MIME = re.compile(r"[^\s/;,]{1,127}/[^\s/;,]{1,127}|\*")
_LABEL = re.compile(rf"({_GUID})")


def normalize(rule_type: RuleType, pattern: object, action: RuleAction) -> str:
    """
    Return the raw form of *pattern*: trimmed, prefixes decoded, GUIDs and MIME in lower case.

    Raises:
        InvalidInput: `INVALID_PATTERN`, with the form that the rule type accepts.
    """
    text = pattern.strip() if isinstance(pattern, str) else ""
    if not text or len(text) > MAX_PATTERN_LENGTH:
        raise _invalid(f"A pattern has 1 to {MAX_PATTERN_LENGTH} characters.")
    raw = _NORMALISERS[rule_type](text)
    if raw is None or raw.startswith("collab:"):
        raise _invalid(f"A {rule_type} rule takes {ACCEPTED_FORMS[rule_type]}.")
    if rule_type is RuleType.LIST_ITEM_ID and ":" not in raw and action is not RuleAction.BLOCK:
        raise _invalid("A bare item number would match in every list: only a block may have it.")
    return raw


def _invalid(message: str) -> InvalidInput:
    return InvalidInput(message, code=Code.INVALID_PATTERN)


def _file(text: str) -> str | None:
    """Read an item; `root` is refused, because facts hold the root folder's real item id."""
    raw = _folder(text)
    return None if raw is None or raw.rpartition(":")[2].lower() == ROOT else raw


def _folder(text: str) -> str | None:
    match = _ITEM.fullmatch(text)
    if not match:
        return None
    drive, item = match[1] or match[3], match[2] or match[4]
    return f"{drive}:{item}" if drive else item


def _group(pattern: re.Pattern[str], *, fold: bool) -> Callable[[str], str | None]:
    def read(text: str) -> str | None:
        match = pattern.fullmatch(text)
        if not match:
            return None
        return match[1].lower() if fold else match[1]

    return read


def _list_item(text: str) -> str | None:
    match = _LIST_ITEM.fullmatch(text)
    if not match:
        return None
    guid = match[1] or match[2]
    number = str(int(match[3]))
    return f"{guid.lower()}:{number}" if guid else number


def _mime(text: str) -> str | None:
    return text.lower() if _MIME.fullmatch(text) else None


def _content_type(text: str) -> str | None:
    return text


# Rule type -> the accepted forms, for messages and for the docs.
ACCEPTED_FORMS: Mapping[RuleType, str] = MappingProxyType(
    {
        RuleType.FILE_ID: "an item id, {driveId}:{itemId}, or collab:drive:{driveId}:item:{itemId}",
        RuleType.FOLDER: "a folder's item id, {driveId}:{itemId}, or its collab: form",
        RuleType.DRIVE_ID: "a drive id, or collab:drive:{driveId}",
        RuleType.SITE_ID: "{hostname},{siteGuid},{webGuid}, or its collab:site: form",
        RuleType.LIST_ID: "a list GUID, or collab:site:{siteId}:list:{listGuid}",
        RuleType.LIST_ITEM_ID: "{listGuid}:{itemId}, or its collab:site: form",
        RuleType.MIME_TYPE: "type/subtype, with * anywhere",
        RuleType.SENSITIVITY_LABEL_ID: "a label GUID",
        RuleType.CONTENT_TYPE_ID: "a content-type id",
    }
)

_NORMALISERS: Mapping[RuleType, Callable[[str], str | None]] = MappingProxyType(
    {
        RuleType.FILE_ID: _file,
        RuleType.FOLDER: _folder,
        RuleType.DRIVE_ID: _group(_DRIVE, fold=False),
        RuleType.SITE_ID: _group(_SITE_ID, fold=True),
        RuleType.LIST_ID: _group(_LIST, fold=True),
        RuleType.LIST_ITEM_ID: _list_item,
        RuleType.MIME_TYPE: _mime,
        RuleType.SENSITIVITY_LABEL_ID: _group(_LABEL, fold=True),
        RuleType.CONTENT_TYPE_ID: _content_type,
    }
)
