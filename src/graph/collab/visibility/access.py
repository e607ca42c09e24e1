"""
Access checks: reads resources of one caller and refuses what the rules do not allow.

A single resource passes three checks: may its id be asked for at all, does it exist, and do its
facts allow it. In block-all mode a missing and a blocked resource give the same answer wherever
only facts could have allowed it: docs/spec/rules.md#existence.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from graph.collab.visibility.accounts import AdmittedAccounts
from graph.collab.visibility.record_reader import RecordReader
from graph.collab.visibility.rule_facts import FactLoader
from graph.loaders.content_loaders import ContentLoaders
from policy.caller import Caller
from policy.refusals import Blocked, BlockedAction, NotFound
from policy.rule_facts import UNKNOWN, Facts, UnknownFact
from policy.rules import Disclosure
from providers.collab_ids import ROOT, ItemKey, ListItemKey, ListKey
from providers.content.merged_content import MergedContent
from providers.failures import Missing
from providers.records.collab import Drive, File, ListItem, Site, SiteList

T = TypeVar("T")
NOTHING: frozenset[str] = frozenset()


class AccessibleFile(msgspec.Struct, frozen=True):
    """A file or folder with the facts that the decision was based on."""

    file: File
    facts: Facts

    @property
    def ancestors_of_children(self) -> frozenset[tuple[str, str]] | Literal[UnknownFact.UNKNOWN]:
        """Every folder above the contents of this folder."""
        above = self.facts.ancestors
        return above if above is UNKNOWN else above | {(self.file.drive, self.file.item)}


class AccessibleListItem(msgspec.Struct, frozen=True):
    """A list item with the facts that the decision was based on."""

    list_item: ListItem
    facts: Facts


class AccessChecker(AdmittedAccounts):
    """
    Reads and decides on the content that one token may access; one per request, or per change.

    Attributes:
        records: Reads what is decided on.
        fact_loader: The facts read so far.
    """

    def __init__(
        self, content: MergedContent, caller: Caller, loaders: ContentLoaders | None = None
    ) -> None:
        super().__init__(content, caller, loaders)
        self.records = RecordReader(content, loaders)
        self.fact_loader = FactLoader(content, caller.rules, loaders)
        self._rules = caller.rules
        self._folder_visibility: dict[ItemKey, bool] = {}

    async def holding(self, key: ItemKey | ListItemKey) -> "AccessChecker":
        """Return the checker of the account that holds a file or list item, if accounts differ."""
        if not self.differ:
            return self
        if isinstance(key, ItemKey):
            return self.on((await self.read_file(key)).file.connection_id)
        return self.on((await self.read_list_item(key)).list_item.connection_id)

    @property
    def unrestricted(self) -> bool:
        """Whether no rule and no default hides anything."""
        return self._rules.unrestricted

    @property
    def allows_by_default(self) -> bool:
        """Whether what no rule is about is visible."""
        return self._rules.allow_by_default

    # -- one resource

    async def read_file(
        self, key: ItemKey, *, projection: AbstractSet[str] = NOTHING
    ) -> AccessibleFile:
        """
        Read a file or folder.

        Raises:
            Blocked: The rules do not allow it, or it is missing and its absence is not disclosed.
            NotFound: It is missing.
        """
        file, facts = await self._read_item(key, projection, BlockedAction.READ)
        if not self.allows(facts):
            await self._pad_calls(key)
        self.require_allowed(facts)
        return AccessibleFile(file, facts)

    async def read_folder(self, key: ItemKey) -> AccessibleFile:
        """Read a folder to list it; Blocked only if nothing in it can be visible."""
        folder, facts = await self._read_item(key, NOTHING, BlockedAction.LIST_CHILDREN)
        if not self._rules.may_contain_visible(facts):
            await self._pad_calls(key)
            raise self._blocked(facts, BlockedAction.LIST_CHILDREN)
        self._folder_visibility[folder.key] = folder.is_root or self.allows(facts)
        return AccessibleFile(folder, facts)

    async def read_parent(self, key: ItemKey) -> AccessibleFile:
        """Read a folder to create something in, which `require_creation` then decides on."""
        folder, facts = await self._read_item(key, NOTHING, BlockedAction.CREATE_CHILD)
        if not self.allows(facts):
            await self._pad_calls(key)
        return AccessibleFile(folder, facts)

    async def read_site(self, site: str) -> Site:
        """Read a site; raises as `read_file`."""
        ids = Facts(site_id=site)
        disclosure = self._rules.disclosure(ids)
        return await self._read(disclosure, lambda: self.records.site(site), ids=ids)

    async def read_in_site(self, site: str, read: Callable[[], Awaitable[T]]) -> T:
        """Read the contents of a site; raises as `read_folder`."""
        ids = Facts(site_id=site)
        if not self._rules.may_contain_visible(ids):
            raise self._blocked(ids, BlockedAction.LIST_CHILDREN)
        return await self._read(self._rules.disclosure(ids, listing=True), read)

    async def read_drive(self, drive_id: str) -> Drive:
        """Read a library; Blocked only if nothing in it can be visible."""
        places = await self.fact_loader.load_item_id_facts(ItemKey(drive_id, ROOT))
        ids = Facts(drive_id=drive_id, site_id=places.site_id, list_id=places.list_id)
        disclosure = self._rules.disclosure(ids, listing=True)
        records = self._records(disclosure)
        drive = await self._read(
            disclosure, lambda: records.drive(drive_id), ids=ids, action=BlockedAction.LIST_CHILDREN
        )
        facts = self.fact_loader.drive_facts(drive)
        if not self._rules.may_contain_visible(facts):
            raise self._blocked(facts, BlockedAction.LIST_CHILDREN)
        return drive

    async def read_list(self, key: ListKey, *, inside: bool = False) -> SiteList:
        """Read a list, with *inside* in order to list its items; raises as `read_file`."""
        ids = self.fact_loader.list_id_facts(key)
        disclosure = self._rules.disclosure(ids, listing=inside)
        action = BlockedAction.LIST_CHILDREN if inside else BlockedAction.READ
        site_list = await self._read(
            disclosure, lambda: self.records.site_list(key), ids=ids, action=action
        )
        facts = self.fact_loader.list_facts(site_list)
        if not (inside and self._rules.may_contain_visible(facts)):
            self.require_allowed(facts)
        return site_list

    async def read_list_item(
        self,
        key: ListItemKey,
        *,
        projection: AbstractSet[str] = NOTHING,
        hidden: AbstractSet[str] = NOTHING,
    ) -> AccessibleListItem:
        """Read a list item, without the columns in *hidden*; raises as `read_file`."""
        ids = self.fact_loader.list_id_facts(key.of, key.item)
        disclosure = self._rules.disclosure(ids)
        attributes = projection | self.fact_loader.list_item_attributes
        records, fact_loader = self._fresh(disclosure)
        list_item = await self._read(
            disclosure,
            lambda: records.list_item(key, projection=attributes, hidden=hidden),
            ids=ids,
            pad_calls=lambda: self._pad_calls(key),
        )
        (facts,) = await fact_loader.load_list_item_facts([list_item])
        self.fact_loader.merge(fact_loader)
        if not self.allows(facts):
            await self._pad_calls(key)
        self.require_allowed(facts)
        return AccessibleListItem(list_item, facts)

    # -- many

    async def check_files(self, files: Sequence[File]) -> list[bool]:
        """Return whether each file may be seen, in the order of *files*."""
        return [self.allows(facts) for facts in await self.fact_loader.load_file_facts(files)]

    async def check_tree(self, files: Sequence[File]) -> list[bool]:
        """Do what `check_files` does, and note which folders may be named."""
        allowed = await self.check_files(files)
        pairs = zip(files, allowed, strict=True)
        self._folder_visibility |= {
            file.key: file.is_root or may_see for file, may_see in pairs if file.is_folder
        }
        return allowed

    async def visible_folders(self, keys: Collection[ItemKey]) -> frozenset[ItemKey]:
        """
        Return the folders that may be named in answers about their contents.

        The root of a library is always among them: it stands for the library.
        """
        unread = [key for key in dict.fromkeys(keys) if key not in self._folder_visibility]
        if unread:
            self._folder_visibility.update(dict.fromkeys(unread, False))
            folders = await self.records.files(unread, projection=self.fact_loader.file_attributes)
            await self.check_tree(folders)
        return frozenset(key for key in keys if self._folder_visibility[key])

    async def check_list_items(self, list_items: Sequence[ListItem]) -> list[bool]:
        """Return whether each list item may be seen, in the order of *list_items*."""
        return [
            self.allows(facts) for facts in await self.fact_loader.load_list_item_facts(list_items)
        ]

    def visible_lists(self, lists: Sequence[SiteList]) -> list[SiteList]:
        """Return the lists that may be seen."""
        facts_of = self.fact_loader.list_facts
        return [site_list for site_list in lists if self.allows(facts_of(site_list))]

    async def fully_visible_lists(self, keys: Collection[ListKey]) -> frozenset[ListKey]:
        """Return the lists of which every item may be seen, whatever it is."""
        visible = set()
        for site_list in await self.records.lists(keys):
            facts = self.fact_loader.shared_list_item_facts(site_list)
            if self._rules.blocking_rule(facts) is None and self._rules.allows_contents(facts):
                visible.add(site_list.key)
        return frozenset(visible)

    def visible_sites(self, sites: Sequence[Site]) -> list[Site]:
        """Return the sites that may be seen."""
        return [site for site in sites if self.allows_site(site.site)]

    def listable_drives(self, drives: Sequence[Drive]) -> list[Drive]:
        """Return the libraries that can hold something visible."""
        facts_of = self.fact_loader.drive_facts
        return [drive for drive in drives if self._rules.may_contain_visible(facts_of(drive))]

    # -- decisions

    def allows_site(self, site: str) -> bool:
        """Return whether a site may be seen."""
        return self.allows(Facts(site_id=site))

    def allows(self, facts: Facts) -> bool:
        """Return whether the rules allow the resource with these facts."""
        return self._rules.decide(facts).allowed

    def require_allowed(self, facts: Facts) -> None:
        """Raise Blocked unless the rules allow the resource with these facts."""
        decision = self._rules.decide(facts)
        if not decision.allowed:
            raise Blocked(decision.rule_id, facts=facts)

    def require_not_blocked(self, facts: Facts) -> None:
        """Raise Blocked if a block rule matches these facts, or may match them."""
        rule_id = self._rules.blocking_rule(facts)
        if rule_id is not None:
            raise Blocked(rule_id, facts=facts)

    def require_child_allowed(self, folder: Facts, child: Facts) -> None:
        """
        Raise Blocked unless *child* is allowed, before the *folder* around it is changed.

        If no block rule decided, the refusal is about the whole folder.
        """
        decision = self._rules.decide(child)
        if not decision.allowed and decision.rule_id is None:
            raise Blocked(action=BlockedAction.CHANGE_TREE, facts=folder, child=child)
        if not decision.allowed:
            raise Blocked(decision.rule_id, facts=child)

    def unchecked_contents(self, folder: Facts, inside: Facts) -> Blocked:
        """Build the refusal for a *folder* whose contents could not all be checked."""
        return Blocked(
            self._rules.blocking_rule(inside),
            action=BlockedAction.CHANGE_TREE,
            facts=folder,
            child=inside,
        )

    def require_creation(self, parent: Facts, child: Facts) -> None:
        """Raise Blocked unless a new *child* may be created below *parent*."""
        if not self._rules.allows_creation(parent, child):
            rule_id = self._rules.blocking_rule(child)
            if rule_id is None:
                rule_id = self._rules.blocking_rule(parent)
            raise Blocked(rule_id, action=BlockedAction.CREATE_CHILD, facts=parent, child=child)

    def require_renaming(self, target: AccessibleFile, media_types: AbstractSet[str]) -> None:
        """Raise Blocked unless a file may have every type that its new name says."""
        if not target.file.is_folder:
            for media_type in sorted(media_types):
                self.require_allowed(replace(target.facts, mime_type=media_type))

    def allows_all_inside(self, inside: Facts) -> bool:
        """
        Return whether rules about places alone allow everything in a container, at any depth.

        *inside* holds the facts that all direct contents share.
        """
        deeper = replace(inside, ancestors=UNKNOWN)
        return self._rules.blocking_rule(deeper) is None and self._rules.allows_contents(inside)

    def require_place_allowed(self, folder: Facts, child: Facts) -> None:
        """
        Raise Blocked unless a rule about a place, or the default, allows everything in *folder*.

        *child* holds the facts that all of its contents share.
        """
        if not self._rules.allows_contents(child):
            raise Blocked(action=BlockedAction.CHANGE_TREE, facts=folder, child=child)

    def _blocked(self, facts: Facts, action: BlockedAction) -> Blocked:
        return Blocked(self._rules.blocking_rule(facts), action=action, facts=facts)

    async def _read_item(
        self, key: ItemKey, projection: AbstractSet[str], action: BlockedAction
    ) -> tuple[File, Facts]:
        ids = await self.fact_loader.load_item_id_facts(key)
        attributes = frozenset(projection | self.fact_loader.file_attributes)
        disclosure = self._rules.disclosure(ids, listing=action is not BlockedAction.READ)
        records, fact_loader = self._fresh(disclosure)
        file = await self._read(
            disclosure,
            lambda: records.file(key, projection=attributes),
            ids=ids,
            action=action,
            pad_calls=lambda: self._pad_calls(key),
        )
        (facts,) = await fact_loader.load_file_facts([file])
        self.fact_loader.merge(fact_loader)
        return file, facts

    def _fresh(self, disclosure: Disclosure) -> tuple[RecordReader, FactLoader]:
        """Return readers for one resource, of even cost where the cost could be a side channel."""
        records = self._records(disclosure)
        return records, FactLoader(records.content, self._rules, records.loaders)

    def _records(self, disclosure: Disclosure) -> RecordReader:
        is_even = disclosure is Disclosure.UNDISCLOSED
        return self.records.exhaustive() if is_even else self.records

    async def _pad_calls(self, key: ItemKey | ListItemKey) -> None:
        """
        Pad upstream calls so that *missing* and *denied* take the same number.

        Otherwise the count is a side channel: docs/spec/rules.md#equal-cost.
        """
        content = self.content.exhaustive()
        if isinstance(key, ItemKey):
            await self.fact_loader.pad_calls(lambda: content.items([key], projection=NOTHING))
        else:
            await self.fact_loader.pad_calls(
                lambda: content.list_items_by_id([key], projection=NOTHING)
            )

    async def _read(
        self,
        disclosure: Disclosure,
        read: Callable[[], Awaitable[T]],
        *,
        ids: Facts | None = None,
        action: BlockedAction = BlockedAction.READ,
        pad_calls: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """Read a resource unless its id is blocked; say *missing* only where that is disclosed."""
        if disclosure is Disclosure.DENIED:
            raise Blocked if ids is None else self._blocked(ids, action)
        try:
            return await read()
        except Missing as missing:
            if disclosure is Disclosure.UNDISCLOSED:
                if pad_calls is not None:
                    await pad_calls()
                raise Blocked(action=action, facts=ids) from missing
            raise NotFound("There is no resource with this id.") from missing
