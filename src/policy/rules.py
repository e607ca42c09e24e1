"""
`RuleSet`: which collab resources a token may reach (docs/spec/rules.md).

The rules of a token are compiled once into dictionaries keyed by what they match, so that a
decision costs the same at 10 rules and at 100,000. Every fact has three states: known, known to be
absent, unknown. An unknown fact matches block rules and never allow rules, so a missing fact never
grants more.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from policy.vocabulary import RuleAction, RuleType


class UnknownFact(Enum):
    """Marker of a fact that upstream did not report."""

    UNKNOWN = auto()


UNKNOWN: Final = UnknownFact.UNKNOWN
TextFact: TypeAlias = str | Literal[UnknownFact.UNKNOWN] | None

ROOT = "root"  # a library's root folder in folder rules; docs/spec/rules.md#library-roots
GLOB_CACHE_SIZE = 4096  # upstream may send any number of MIME types

# An item id within its drive; item ids are unique only there.
ItemKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A stored rule; *pattern* is in raw form (see `policy.patterns`)."""

    id: int
    rule_type: RuleType
    pattern: str
    action: RuleAction


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
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


class Reason(Enum):
    """Ground of a decision."""

    RULE = auto()
    UNKNOWN_FACT = auto()
    DEFAULT = auto()


class Disclosure(Enum):
    """
    Whether the existence of a resource may be disclosed, decided from its ids alone.

    DENIED: blocked whatever upstream reports, so upstream is not asked. DISCLOSED: the caller may
    learn whether it exists. UNDISCLOSED: only facts from upstream could allow it, so *missing* and
    *blocked* must look alike (docs/spec/reliability.md#existence).
    """

    DENIED = auto()
    DISCLOSED = auto()
    UNDISCLOSED = auto()


@dataclass(frozen=True, slots=True)
class Decision:
    """
    Result of matching a resource against the rules.

    Attributes:
        rule_id: The rule that matched; None when the default decided.
    """

    allowed: bool
    reason: Reason
    rule_id: int | None = None


@dataclass(frozen=True)
class RuleSet:
    """The compiled rules of a token. *allow_by_default* is `collabAllowAllDefault`."""

    allow_by_default: bool
    allow: "RuleIndex"
    block: "RuleIndex"

    @classmethod
    def compile(cls, rules: Iterable[Rule], *, allow_by_default: bool) -> "RuleSet":
        """Compile *rules*, given in any order."""
        allow, block = RuleIndex(), RuleIndex()
        for rule in sorted(rules, key=lambda rule: rule.id):
            (allow if rule.action is RuleAction.ALLOW else block).add(rule)
        return cls(allow_by_default=allow_by_default, allow=allow, block=block)

    def decide(self, facts: Facts) -> Decision:
        """Block rules win; then the default applies; then allow rules that certainly match."""
        blocked = self.block.match(facts)
        if blocked is not None:
            return Decision(allowed=False, reason=Reason.RULE, rule_id=blocked)
        possible = self.block.might_match(facts)
        if possible is not None:
            return Decision(allowed=False, reason=Reason.UNKNOWN_FACT, rule_id=possible)
        if self.allow_by_default:
            return Decision(allowed=True, reason=Reason.DEFAULT)
        allowed = self.allow.match(facts)
        if allowed is not None:
            return Decision(allowed=True, reason=Reason.RULE, rule_id=allowed)
        return Decision(allowed=False, reason=Reason.DEFAULT)

    def disclosure(self, ids: Facts, *, listing: bool = False) -> Disclosure:
        """
        Return what a caller may learn about a resource before its facts are read.

        *ids* hold what its id says; all other facts are UNKNOWN. *listing* asks about listing its
        contents.
        """
        if self.block.match(ids) is not None:
            return Disclosure.DENIED
        if self.allow_by_default or self.allow.match(ids) is not None:
            return Disclosure.DISCLOSED
        possible = self.allow.might_match(ids) is not None
        if possible or (listing and self.allow.can_match_below(ids)):
            return Disclosure.UNDISCLOSED
        return Disclosure.DENIED

    def may_contain_visible(self, container: Facts) -> bool:
        """
        Say whether something below *container* can be visible, so that it may be listed.

        True when the container itself is allowed, or in block-all mode when an allow rule can
        match below it (docs/spec/rules.md#containers).
        """
        if self.blocking_rule(container) is not None:
            return False
        return self.decide(container).allowed or self.allow.can_match_below(container)

    def allows_creation(self, parent: Facts, child: Facts) -> bool:
        """
        Say whether a new *child* may be created below *parent*.

        The parent must be allowed, or a container rule must allow the child; no block rule may
        match either of them (docs/spec/rules.md#creating-and-moving).
        """
        if self.blocking_rule(child) is not None or self.blocking_rule(parent) is not None:
            return False
        return self.decide(parent).allowed or self.allows_contents(child)

    def allows_contents(self, facts: Facts) -> bool:
        """
        Say whether everything in the containers of *facts* is allowed, block rules aside.

        True by default, or by a rule about a folder, library, site or list.
        """
        if self.allow_by_default:
            return True
        return any(MATCHERS[kind](self.allow, facts) is not None for kind in CONTAINER_TYPES)

    def blocking_rule(self, facts: Facts) -> int | None:
        """Return the id of the rule that blocks a resource with these facts, or None."""
        matching = self.block.match(facts)
        return self.block.might_match(facts) if matching is None else matching

    @property
    def has_block_rules(self) -> bool:
        """Whether there are any block rules."""
        return bool(self.block.lowest_ids)

    @cached_property
    def rule_types(self) -> frozenset[RuleType]:
        """The rule types in use: facts for other types are not worth an upstream call."""
        return frozenset({*self.allow.lowest_ids, *self.block.lowest_ids})


@dataclass
class RuleIndex:
    """
    The rules of one action, by what they match; each value is the lowest matching rule id.

    Keyed patterns (`{drive}:{item}`, `{list}:{number}`) are pairs; bare ones match in any drive or
    list. `keyed_drives` and `keyed_lists` are the drives and lists that pairs name,
    `numbers_in_lists` the numbers they name. `lowest_ids`: per type in use.
    """

    items: dict[str, int] = field(default_factory=dict)
    item_keys: dict[ItemKey, int] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    folder_keys: dict[ItemKey, int] = field(default_factory=dict)
    drives: dict[str, int] = field(default_factory=dict)
    sites: dict[str, int] = field(default_factory=dict)
    lists: dict[str, int] = field(default_factory=dict)
    item_numbers: dict[str, int] = field(default_factory=dict)
    list_items: dict[ItemKey, int] = field(default_factory=dict)
    numbers_in_lists: dict[str, int] = field(default_factory=dict)
    mime_types: dict[str, int] = field(default_factory=dict)
    mime_globs: dict[str, int] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    content_types: dict[str, int] = field(default_factory=dict)
    lowest_ids: dict[RuleType, int] = field(default_factory=dict)
    keyed_drives: dict[str, int] = field(default_factory=dict)
    keyed_lists: dict[str, int] = field(default_factory=dict)
    glob_cache: dict[str, int | None] = field(default_factory=dict, repr=False)

    def add(self, rule: Rule) -> None:
        """Add *rule*; rules must come in ascending order of id."""
        pattern = rule.pattern
        self.lowest_ids.setdefault(rule.rule_type, rule.id)
        match rule.rule_type:
            case RuleType.FILE_ID:
                _add_pattern(self.items, self.item_keys, self.keyed_drives, pattern, rule.id)
            case RuleType.FOLDER:
                _add_pattern(self.folders, self.folder_keys, self.keyed_drives, pattern, rule.id)
            case RuleType.LIST_ITEM_ID:
                keyed_lists = self.keyed_lists
                _add_pattern(
                    self.item_numbers, self.list_items, keyed_lists, pattern.lower(), rule.id
                )
                self.numbers_in_lists.setdefault(pattern.rpartition(":")[2], rule.id)
            case RuleType.DRIVE_ID:
                self.drives.setdefault(pattern, rule.id)
            case RuleType.SITE_ID:
                self.sites.setdefault(pattern.lower(), rule.id)
            case RuleType.LIST_ID:
                self.lists.setdefault(pattern.lower(), rule.id)
            case RuleType.MIME_TYPE:
                types = self.mime_globs if "*" in pattern else self.mime_types
                types.setdefault(pattern.lower(), rule.id)
            case RuleType.SENSITIVITY_LABEL_ID:
                self.labels.setdefault(pattern.lower(), rule.id)
            case RuleType.CONTENT_TYPE_ID:
                self.content_types.setdefault(pattern.casefold(), rule.id)

    def match(self, facts: Facts) -> int | None:
        """Return the id of a rule that certainly matches *facts*, or None."""
        for matcher in MATCHERS.values():
            rule_id = matcher(self, facts)
            if rule_id is not None:
                return rule_id
        return None

    def might_match(self, facts: Facts) -> int | None:
        """Return the id of a rule that may match because a fact is unknown, or None."""
        for rule_type, matcher in POSSIBLE_MATCHERS.items():
            if rule_type in self.lowest_ids:
                rule_id = matcher(self, facts)
                if rule_id is not None:
                    return rule_id
        return None

    def can_match_below(self, container: Facts) -> bool:
        """
        Say whether a rule may match something inside *container*, a site, list or library.

        True unless the container's own ids exclude it; the listing itself shows only matches.
        """
        if self.can_match_file_below(container):
            return True
        if container.item is None and container.drive_id is None and container.list_id is None:
            return any(rule_type is not RuleType.SITE_ID for rule_type in self.lowest_ids)
        if container.list_id is UNKNOWN:
            return RuleType.LIST_ID in self.lowest_ids or RuleType.LIST_ITEM_ID in self.lowest_ids
        if container.list_id is None:
            return False
        return bool(
            container.list_id in self.keyed_lists
            or self.item_numbers
            or self.content_types
            or self.labels
        )

    def can_match_file_below(self, container: Facts) -> bool:
        """Say whether a rule may match a file inside a library or folder."""
        drive = container.drive_id
        if container.item is not None and container.item is not UNKNOWN:
            drive = container.item[0]
        if drive is None:
            return False
        if self.items or self.folders or self.mime_types or self.mime_globs or self.labels:
            return True
        if self.content_types or self.item_numbers:
            return True
        unknown_site = container.site_id is UNKNOWN and bool(self.sites)
        return unknown_site or (
            bool(self.keyed_drives) if drive is UNKNOWN else drive in self.keyed_drives
        )


def _item(index: RuleIndex, facts: Facts) -> int | None:
    if facts.item is None or facts.item is UNKNOWN:
        return None
    rule_id = index.item_keys.get(facts.item)
    return index.items.get(facts.item[1]) if rule_id is None else rule_id


def _folder(index: RuleIndex, facts: Facts) -> int | None:
    if facts.ancestors is UNKNOWN or not facts.ancestors:
        return None
    if not index.folders and not index.folder_keys:
        return None
    drive = next(iter(facts.ancestors))[0]
    rule_ids = [
        rule_id
        for ancestor in (*facts.ancestors, (drive, ROOT))  # the root by its real id and by alias
        for rule_id in (index.folder_keys.get(ancestor), index.folders.get(ancestor[1]))
        if rule_id is not None
    ]
    return min(rule_ids, default=None)


def _drive(index: RuleIndex, facts: Facts) -> int | None:
    return _look_up(index.drives, facts.drive_id)


def _site(index: RuleIndex, facts: Facts) -> int | None:
    return _look_up(index.sites, facts.site_id)


def _list(index: RuleIndex, facts: Facts) -> int | None:
    return _look_up(index.lists, facts.list_id)


def _list_item(index: RuleIndex, facts: Facts) -> int | None:
    number, list_id = facts.list_item_id, facts.list_id
    if number is UNKNOWN or number is None:
        return None
    if list_id is not UNKNOWN and list_id is not None and (list_id, number) in index.list_items:
        return index.list_items[list_id, number]
    return index.item_numbers.get(number)


def _mime(index: RuleIndex, facts: Facts) -> int | None:
    mime = facts.mime_type
    if mime is UNKNOWN or mime is None:
        return None
    if mime in index.mime_types:
        return index.mime_types[mime]
    if mime not in index.glob_cache:
        # There are few distinct types, so each is compared with all patterns once.
        if len(index.glob_cache) >= GLOB_CACHE_SIZE:
            index.glob_cache.clear()
        matching = [rule for glob, rule in index.mime_globs.items() if _matches_glob(glob, mime)]
        index.glob_cache[mime] = min(matching, default=None)
    return index.glob_cache[mime]


def _label(index: RuleIndex, facts: Facts) -> int | None:
    if facts.label_ids is UNKNOWN:
        return None
    rule_ids = [index.labels[label] for label in facts.label_ids if label in index.labels]
    return min(rule_ids, default=None)


def _content_type(index: RuleIndex, facts: Facts) -> int | None:
    content_type = facts.content_type_id
    if content_type is UNKNOWN or content_type is None:
        return None
    return index.content_types.get(content_type.casefold())


# Rule type -> its matcher, cheapest first; a test requires every rule type.
MATCHERS: Mapping[RuleType, Callable[[RuleIndex, Facts], int | None]] = MappingProxyType(
    {
        RuleType.FILE_ID: _item,
        RuleType.DRIVE_ID: _drive,
        RuleType.SITE_ID: _site,
        RuleType.LIST_ID: _list,
        RuleType.LIST_ITEM_ID: _list_item,
        RuleType.CONTENT_TYPE_ID: _content_type,
        RuleType.MIME_TYPE: _mime,
        RuleType.SENSITIVITY_LABEL_ID: _label,
        RuleType.FOLDER: _folder,
    }
)


def _possible_list_item(index: RuleIndex, facts: Facts) -> int | None:
    """Match list id and number; a known part that differs excludes the pair."""
    number, list_id = facts.list_item_id, facts.list_id
    if number is None:
        return None
    if number is not UNKNOWN:
        return index.numbers_in_lists.get(number) if list_id is UNKNOWN else None
    if list_id is UNKNOWN:
        return index.lowest_ids[RuleType.LIST_ITEM_ID]
    bare = next(iter(index.item_numbers.values()), None)  # the lowest id comes first
    return bare if list_id is None or bare is not None else index.keyed_lists.get(list_id)


def _if_unknown(rule_type: RuleType, fact: str) -> Callable[[RuleIndex, Facts], int | None]:
    def matcher(index: RuleIndex, facts: Facts) -> int | None:
        return index.lowest_ids[rule_type] if getattr(facts, fact) is UNKNOWN else None

    return matcher


# Rule types about containers, which can be matched before a resource exists.
CONTAINER_TYPES = (RuleType.FOLDER, RuleType.DRIVE_ID, RuleType.SITE_ID, RuleType.LIST_ID)

# Rule type -> the rule that an unknown fact does not exclude; called only when there are rules of
# the type. A test requires every rule type.
POSSIBLE_MATCHERS: Mapping[RuleType, Callable[[RuleIndex, Facts], int | None]] = MappingProxyType(
    {
        RuleType.FILE_ID: _if_unknown(RuleType.FILE_ID, "item"),
        RuleType.FOLDER: _if_unknown(RuleType.FOLDER, "ancestors"),
        RuleType.DRIVE_ID: _if_unknown(RuleType.DRIVE_ID, "drive_id"),
        RuleType.SITE_ID: _if_unknown(RuleType.SITE_ID, "site_id"),
        RuleType.LIST_ID: _if_unknown(RuleType.LIST_ID, "list_id"),
        RuleType.LIST_ITEM_ID: _possible_list_item,
        RuleType.MIME_TYPE: _if_unknown(RuleType.MIME_TYPE, "mime_type"),
        RuleType.SENSITIVITY_LABEL_ID: _if_unknown(RuleType.SENSITIVITY_LABEL_ID, "label_ids"),
        RuleType.CONTENT_TYPE_ID: _if_unknown(RuleType.CONTENT_TYPE_ID, "content_type_id"),
    }
)


def _add_pattern(
    bare: dict[str, int],
    keyed: dict[ItemKey, int],
    seen: dict[str, int],
    pattern: str,
    rule_id: int,
) -> None:
    first, colon, second = pattern.partition(":")
    if colon:
        keyed.setdefault((first, second), rule_id)
        seen.setdefault(first, rule_id)
    else:
        bare.setdefault(pattern, rule_id)


def _look_up(rules: Mapping[str, int], fact: TextFact) -> int | None:
    return None if fact is UNKNOWN or fact is None else rules.get(fact)


def _matches_glob(pattern: str, text: str) -> bool:
    parts = (re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(".*".join(parts), text, re.DOTALL) is not None
