"""
`RuleIndex`: the rules of one action in dictionaries, and the matchers of each rule type.

A lookup costs the same at 10 rules and at 100,000 (docs/spec/rules.md#rule-types).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from policy.rule_facts import ROOT, UNKNOWN, Facts, ItemKey, Rule, TextFact
from policy.vocabulary import RuleType
from policy.wildcards import Wildcard

_CASED_DRIVE = "b!"  # begins the drive ids of upstream that are base64
GLOB_CACHE_SIZE = 4096  # upstream may send any number of MIME types


@dataclass
class RuleIndex:
    """
    The rules of one action, by what they match; each value is the lowest matching rule id.

    Keyed patterns (`{drive}:{item}`, `{list}:{number}`) are pairs; bare ones match in any drive or
    list. `keyed_drives` and `keyed_lists` are the drives and lists that pairs name,
    `numbers_in_lists` the numbers they name. `lowest_ids`: per type in use. `exact_drives`: whether
    the case of a drive id counts where upstream's does (docs/spec/rules.md#letter-case).
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
    exact_drives: bool = False

    def drive_key(self, drive: str) -> str:
        """Return the form in which drive ids are compared."""
        return drive if self.exact_drives and drive.startswith(_CASED_DRIVE) else drive.lower()

    def item_key(self, item: ItemKey) -> ItemKey:
        """Return the form in which items are compared."""
        return self.drive_key(item[0]), item[1].lower()

    def add(self, rule: Rule) -> None:
        """Add *rule*; rules must come in ascending order of id."""
        pattern = rule.pattern
        self.lowest_ids.setdefault(rule.rule_type, rule.id)
        match rule.rule_type:
            case RuleType.FILE_ID:
                self._add_item(self.items, self.item_keys, pattern, rule.id)
            case RuleType.FOLDER:
                self._add_item(self.folders, self.folder_keys, pattern, rule.id)
            case RuleType.LIST_ITEM_ID:
                keyed_lists = self.keyed_lists
                _add_pattern(
                    self.item_numbers, self.list_items, keyed_lists, pattern.lower(), rule.id
                )
                self.numbers_in_lists.setdefault(pattern.rpartition(":")[2], rule.id)
            case RuleType.DRIVE_ID:
                self.drives.setdefault(self.drive_key(pattern), rule.id)
            case RuleType.SITE_ID:
                self.sites.setdefault(pattern.lower(), rule.id)
            case RuleType.LIST_ID:
                self.lists.setdefault(pattern.lower(), rule.id)
            case RuleType.MIME_TYPE:
                self.glob_cache.clear()
                types = self.mime_globs if "*" in pattern else self.mime_types
                types.setdefault(pattern.lower(), rule.id)
            case RuleType.SENSITIVITY_LABEL_ID:
                self.labels.setdefault(pattern.lower(), rule.id)
            case RuleType.CONTENT_TYPE_ID:
                self.content_types.setdefault(pattern.casefold(), rule.id)

    def _add_item(
        self, bare: dict[str, int], keyed: dict[ItemKey, int], pattern: str, rule_id: int
    ) -> None:
        drive, colon, item = pattern.rpartition(":")
        pattern = f"{self.drive_key(drive)}{colon}{item.lower()}"
        _add_pattern(bare, keyed, self.keyed_drives, pattern, rule_id)

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
        Return whether a rule may match something inside *container*, a site, list or library.

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
        """Return whether a rule may match a file inside a library or folder."""
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
            bool(self.keyed_drives)
            if drive is UNKNOWN
            else self.drive_key(drive) in self.keyed_drives
        )


def _item(index: RuleIndex, facts: Facts) -> int | None:
    if facts.item is None or facts.item is UNKNOWN:
        return None
    key = index.item_key(facts.item)
    rule_id = index.item_keys.get(key)
    return index.items.get(key[1]) if rule_id is None else rule_id


def _folder(index: RuleIndex, facts: Facts) -> int | None:
    if facts.ancestors is UNKNOWN or not facts.ancestors:
        return None
    if not index.folders and not index.folder_keys:
        return None
    drive = next(iter(facts.ancestors))[0]
    rule_ids = [
        rule_id
        # the root by its real id and by alias
        for ancestor in map(index.item_key, (*facts.ancestors, (drive, ROOT)))
        for rule_id in (index.folder_keys.get(ancestor), index.folders.get(ancestor[1]))
        if rule_id is not None
    ]
    return min(rule_ids, default=None)


def _drive(index: RuleIndex, facts: Facts) -> int | None:
    drive = facts.drive_id
    return None if drive is UNKNOWN or drive is None else index.drives.get(index.drive_key(drive))


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
        matching = [rule for glob, rule in index.mime_globs.items() if Wildcard(glob)(mime)]
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
