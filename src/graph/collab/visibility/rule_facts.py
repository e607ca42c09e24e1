"""
Facts that rules ask about: only those that the token's rules need, each loaded once per request.

A fact that upstream did not tell is UNKNOWN, which matches block rules and never allow rules. Facts
of one page are loaded in batches. See docs/spec/rules.md#unknown-facts.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec
from msgspec.structs import replace

from graph.loaders.content_loaders import ContentLoaders
from policy.rule_chain import Rules
from policy.rule_facts import UNKNOWN, Facts, ItemKey, TextFact, UnknownFact
from policy.vocabulary import RuleType
from providers import collab_ids
from providers.collab_ids import ItemKey as Key
from providers.collab_ids import ListKey
from providers.content.ancestors import Ancestors
from providers.content.merged_content import MergedContent
from providers.records import collab as records
from providers.records.collab import Drive, File, FileLabel, ListItem, SiteList

# Rule type -> the attributes of a file, or of a list item, that the decision needs.
_FILE_ATTRIBUTES: Mapping[RuleType, tuple[str, ...]] = MappingProxyType(
    {
        RuleType.SITE_ID: ("site",),
        RuleType.LIST_ID: ("list_id",),
        RuleType.LIST_ITEM_ID: ("list_id", "list_item_id"),
        RuleType.CONTENT_TYPE_ID: ("content_type_id",),
    }
)
_LIST_ITEM_ATTRIBUTES: Mapping[RuleType, tuple[str, ...]] = MappingProxyType(
    {
        RuleType.FILE_ID: ("file",),
        RuleType.FOLDER: ("file",),
        RuleType.DRIVE_ID: ("file",),
        RuleType.MIME_TYPE: ("file",),
        RuleType.SENSITIVITY_LABEL_ID: ("file",),
        RuleType.CONTENT_TYPE_ID: ("content_type_id",),
    }
)
# Facts that cost an upstream call of their own, in batches.
_SEPARATE_CALLS = frozenset({RuleType.FOLDER, RuleType.SENSITIVITY_LABEL_ID})
_PLACE_TYPES = (RuleType.SITE_ID, RuleType.LIST_ID, RuleType.LIST_ITEM_ID)

# Facts of a list item without a file, and of one whose file is unknown.
_NO_FILE = Facts()
_UNKNOWN_FILE = Facts(
    item=UNKNOWN, drive_id=UNKNOWN, ancestors=UNKNOWN, mime_type=UNKNOWN, label_ids=UNKNOWN
)

Labels = tuple[FileLabel, ...] | records.Unknown


class FactLoader(msgspec.Struct):
    """
    Loads facts, and keeps them for the length of one request.

    Attributes:
        loaders: Read the facts of what several fields ask about together; None: facts are read
            afresh.
    """

    content: MergedContent
    rules: Rules
    loaders: ContentLoaders | None = None
    _ancestors: dict[Key, Ancestors] = msgspec.field(default_factory=dict)
    _labels: dict[Key, Labels] = msgspec.field(default_factory=dict)
    _drives: dict[str, Drive | records.Unknown | None] = msgspec.field(default_factory=dict)
    _fact_calls: int = 0  # upstream calls made so far, as `pad_calls` counts them

    # -- attributes to read in addition to the requested ones

    @property
    def file_attributes(self) -> frozenset[str]:
        """The attributes of `File` that the rules need."""
        return self._attributes(_FILE_ATTRIBUTES)

    @property
    def list_item_attributes(self) -> frozenset[str]:
        """The attributes of `ListItem` that the rules need."""
        return self._attributes(_LIST_ITEM_ATTRIBUTES)

    # -- facts of records

    async def load_file_facts(self, files: Sequence[File]) -> list[Facts]:
        """Return the facts of each file, in the order of *files*."""
        needs = self.rules.rule_types
        if RuleType.FOLDER in needs:
            unread = [file.key for file in files if file.key not in self._ancestors]
            self._ancestors.update(await self._reader.ancestors(unread))
            self._fact_calls += any(not file.is_root for file in files)
        if RuleType.SENSITIVITY_LABEL_ID in needs:
            keys = {file.key for file in files if not file.is_folder}
            await self.labels(keys)
            self._fact_calls += bool(keys)
        if needs.intersection(_PLACE_TYPES):
            await self.drives(
                {file.drive for file in files if records.UNKNOWN in (file.site, file.list_id)}
            )
        return [self._file_facts(file) for file in files]

    async def load_list_item_facts(self, list_items: Sequence[ListItem]) -> list[Facts]:
        """Return the facts of each list item, its file's included, in the order of *list_items*."""
        files = [list_item.file for list_item in list_items if isinstance(list_item.file, File)]
        file_facts = await self.load_file_facts(files)
        facts_by_key = dict(zip([file.key for file in files], file_facts, strict=True))
        return [self._list_item_facts(list_item, facts_by_key) for list_item in list_items]

    def list_facts(self, site_list: SiteList) -> Facts:
        """Return the facts of a list; if it is a library, the library's as well."""
        drive_id = _fact(site_list.drive)
        return Facts(drive_id=drive_id, site_id=site_list.site, list_id=site_list.list)

    def shared_list_item_facts(self, site_list: SiteList) -> Facts:
        """Return the facts that all items of a list share; the others are UNKNOWN."""
        file_facts = _NO_FILE
        if site_list.drive is not None:
            file_facts = replace(_UNKNOWN_FILE, drive_id=_fact(site_list.drive))
        return replace(
            file_facts,
            site_id=site_list.site,
            list_id=site_list.list,
            list_item_id=UNKNOWN,
            content_type_id=UNKNOWN,
        )

    def drive_facts(self, drive: Drive) -> Facts:
        """Return the facts of a library, those of its list included."""
        site_id, list_id = _fact(drive.site), _fact(drive.list_id)
        return Facts(drive_id=drive.drive, site_id=site_id, list_id=list_id)

    async def pad_calls(self, read: Callable[[], Awaitable[object]]) -> None:
        """
        Make the upstream calls that the facts of one denied resource did not need.

        A missing resource and a denied one, at any depth, cost the same calls, so that the cost
        does not tell which it was: docs/spec/rules.md#equal-cost. *read* makes one such call.
        """
        for _ in range(self._fact_calls, len(self.rules.rule_types & _SEPARATE_CALLS)):
            await read()

    def merge(self, other: "FactLoader") -> None:
        """Add the facts that *other*, of the same request, has loaded."""
        self._ancestors.update(other._ancestors)  # noqa: SLF001 - the same class
        self._labels.update(other._labels)  # noqa: SLF001
        self._drives.update(other._drives)  # noqa: SLF001
        self._fact_calls += other._fact_calls  # noqa: SLF001

    # -- facts that follow from an id, before anything is read

    async def load_item_id_facts(self, key: Key) -> Facts:
        """Return the facts that follow from the id of a file: its library and that one's site."""
        site: TextFact = UNKNOWN
        list_id: TextFact = UNKNOWN
        if self.rules.rule_types & {RuleType.SITE_ID, RuleType.LIST_ID}:
            drive = (await self.drives({key.drive})).get(key.drive)
            if isinstance(drive, Drive):
                site, list_id = _fact(drive.site), _fact(drive.list_id)
            elif drive is None:  # no such library exists, so no rule about places can match
                site = list_id = None
        return Facts(
            item=UNKNOWN if key.item == collab_ids.ROOT else (key.drive, key.item),
            drive_id=key.drive,
            ancestors=UNKNOWN,
            site_id=site,
            list_id=list_id,
            list_item_id=UNKNOWN,
            mime_type=UNKNOWN,
            label_ids=UNKNOWN,
            content_type_id=UNKNOWN,
        )

    @staticmethod
    def list_id_facts(key: ListKey, number: str | None = None) -> Facts:
        """Return the facts that follow from the id of a list, or of its item *number*."""
        file_facts = _UNKNOWN_FILE if number is not None else Facts(drive_id=UNKNOWN)
        return replace(
            file_facts,
            site_id=key.site,
            list_id=key.list,
            list_item_id=number,
            content_type_id=UNKNOWN if number is not None else None,
        )

    # -- data that both rules and answers use

    async def labels(self, keys: Collection[Key]) -> Mapping[Key, Labels]:
        """Return the sensitivity labels of files; `records.UNKNOWN` where upstream did not tell."""
        unread = [key for key in dict.fromkeys(keys) if key not in self._labels]
        if unread:
            labels = await self._reader.file_labels(unread)
            self._labels.update({key: labels.get(key, records.UNKNOWN) for key in unread})
        return self._labels

    async def drives(self, drives: Collection[str]) -> Mapping[str, Drive | records.Unknown | None]:
        """Return libraries by id; None for one that does not exist."""
        unread = [drive for drive in dict.fromkeys(drives) if drive not in self._drives]
        if unread:
            # In block-all mode a guess at a library must cost as much as a library that is denied.
            reader = self._reader if self.rules.allow_by_default else self.content.exhaustive()
            records_by_id = await reader.drives_by_id(unread)
            self._drives.update(
                {drive: records_by_id.get(drive, records.UNKNOWN) for drive in unread}
            )
        return self._drives

    @property
    def _reader(self) -> ContentLoaders | MergedContent:
        return self.content if self.loaders is None else self.loaders

    def _attributes(self, table: Mapping[RuleType, tuple[str, ...]]) -> frozenset[str]:
        return frozenset(
            name for rule_type in self.rules.rule_types for name in table.get(rule_type, ())
        )

    def _file_facts(self, file: File) -> Facts:
        drive = self._drives.get(file.drive)
        site, list_id = file.site, file.list_id
        if isinstance(drive, Drive):
            site = drive.site if site is records.UNKNOWN else site
            list_id = drive.list_id if list_id is records.UNKNOWN else list_id
        labels: Labels = () if file.is_folder else self._labels.get(file.key, records.UNKNOWN)
        return Facts(
            item=(file.drive, file.item),
            drive_id=file.drive,
            ancestors=_ancestor_keys(self._ancestors.get(file.key, records.UNKNOWN)),
            site_id=_fact(site),
            list_id=_fact(list_id),
            # The root of a library is a folder without a list item.
            list_item_id=None if file.is_root else _fact(file.list_item_id),
            mime_type=_fact(file.media_type),
            label_ids=_label_ids(labels),
            content_type_id=None if file.is_root else _fact(file.content_type_id),
        )

    def _list_item_facts(self, list_item: ListItem, facts_by_key: Mapping[Key, Facts]) -> Facts:
        file_facts = _NO_FILE if list_item.file is None else _UNKNOWN_FILE
        if isinstance(list_item.file, File):
            file_facts = facts_by_key[list_item.file.key]
        return replace(
            file_facts,
            site_id=list_item.site,
            list_id=list_item.list,
            list_item_id=list_item.number,
            content_type_id=_fact(list_item.content_type_id),
        )


def _fact(value: records.Fact) -> TextFact:
    return UNKNOWN if value is records.UNKNOWN else value


def _ancestor_keys(folders: Ancestors) -> frozenset[ItemKey] | Literal[UnknownFact.UNKNOWN]:
    return (
        UNKNOWN
        if folders is records.UNKNOWN
        else frozenset((key.drive, key.item) for key in folders)
    )


def _label_ids(labels: Labels) -> frozenset[str] | Literal[UnknownFact.UNKNOWN]:
    return UNKNOWN if labels is records.UNKNOWN else frozenset(label.label_id for label in labels)
