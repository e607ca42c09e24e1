"""
Layer 3 at work: what a token may reach is read and decided here, before anything is answered.

A single resource goes through three questions: may its id be asked for at all, is it there, and do
its facts allow it. Missing and blocked look alike wherever only facts could have allowed. Source:
decisions 4 and 16; reference, reliability 4.1 to 4.3.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TypeVar

from graph.collab.visibility.rule_facts import FactLoader
from policy.refusals import Blocked, BlockedAction, NotFound
from policy.rules import UNKNOWN, Disclosure, Facts, RuleSet
from providers.content.ids import ItemKey, ListKey, RowKey
from providers.content.merged_content import MergedContent
from providers.failures import Missing
from providers.records.collab import Drive, File, Row, Site, SiteList

Found = TypeVar("Found")
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class AccessibleFile:
    """A file that may be reached, and the facts that were decided on."""

    file: File
    facts: Facts


@dataclass(frozen=True, slots=True)
class AccessibleRow:
    """A list item that may be reached, and the facts that were decided on."""

    row: Row
    facts: Facts


class AccessChecker:
    """What one token reaches of its connections' content; one per request, or per change."""

    def __init__(self, content: MergedContent, rules: RuleSet) -> None:
        self._content = content
        self._rules = rules
        self.fact_loader = FactLoader(content, rules)
        self._folders: dict[ItemKey, bool] = {}  # whether they may be told of

    @property
    def unrestricted(self) -> bool:
        """Whether everything there is may be seen."""
        return self._rules.allow_by_default and not self._rules.has_block_rules

    # -- one resource

    async def read_file(
        self, key: ItemKey, *, wanted: AbstractSet[str] = NOTHING
    ) -> AccessibleFile:
        """
        Read a file or folder.

        Raises:
            Blocked: It may not be reached, or it is not there and that may not be told.
            NotFound: It is not there.
        """
        found, facts = await self._item(key, wanted, BlockedAction.READ)
        if not self.allows(facts):
            await self._pad_calls(key)
        self.require_allowed(facts)
        return AccessibleFile(found, facts)

    async def read_folder(self, key: ItemKey) -> AccessibleFile:
        """
        Read a folder to list what lies in it; something allowed may be below one that is not.

        Raises:
            Blocked, NotFound: As `file`.
        """
        found, facts = await self._item(key, NOTHING, BlockedAction.LIST_CHILDREN)
        if not self._rules.may_contain_visible(facts):
            await self._pad_calls(key)
            raise self._blocked(facts, BlockedAction.LIST_CHILDREN)
        self._folders[found.key] = found.is_root or self.allows(facts)
        return AccessibleFile(found, facts)

    async def read_parent(self, key: ItemKey) -> AccessibleFile:
        """
        Read a folder to put something into; whether that is allowed is for `may_create` to say.

        Raises:
            Blocked, NotFound: As `file`.
        """
        found, facts = await self._item(key, NOTHING, BlockedAction.CREATE_CHILD)
        if not self.allows(facts):
            await self._pad_calls(key)
        return AccessibleFile(found, facts)

    async def read_site(self, site: str) -> Site:
        """Read a site; raises as `file`."""
        ids = Facts(site_id=site)
        disclosure = self._rules.disclosure(ids)
        return await self._read(disclosure, lambda: self._content.site(site), ids=ids)

    def require_listable_site(self, site: str) -> Disclosure:
        """
        Let pass when something in a site may be seen; return what may be told of it.

        Raises:
            Blocked: Nothing may.
        """
        ids = Facts(site_id=site)
        if not self._rules.may_contain_visible(ids):
            raise self._blocked(ids, BlockedAction.LIST_CHILDREN)
        return self._rules.disclosure(ids, listing=True)

    async def read_list(self, key: ListKey, *, inside: bool = False) -> SiteList:
        """Read a list, or with *inside* one whose items are to be listed; raises as `file`."""
        ids = self.fact_loader.list_id_facts(key)
        disclosure = self._rules.disclosure(ids, listing=inside)
        action = BlockedAction.LIST_CHILDREN if inside else BlockedAction.READ
        found = await self._read(
            disclosure, lambda: self._content.site_list(key), ids=ids, action=action
        )
        facts = self.fact_loader.list_facts(found)
        if inside and self._rules.may_contain_visible(facts):
            return found
        self.require_allowed(facts)
        return found

    async def read_row(
        self,
        key: RowKey,
        *,
        wanted: AbstractSet[str] = NOTHING,
        hidden: AbstractSet[str] = NOTHING,
    ) -> AccessibleRow:
        """Read a list item, without the columns in *hidden*; raises as `file`."""
        ids = self.fact_loader.list_id_facts(key.of, key.item)
        disclosure = self._rules.disclosure(ids)
        wants = wanted | self.fact_loader.row_attributes
        fact_loader = self._fact_loader(disclosure)
        row = await self._read(
            disclosure,
            lambda: fact_loader.content.row(key, wanted=wants, hidden=hidden),
            ids=ids,
            pad_calls=lambda: self._pad_calls(key),
        )
        (facts,) = await fact_loader.load_row_facts([row])
        self.fact_loader.merge(fact_loader)
        if not self.allows(facts):
            await self._pad_calls(key)
        self.require_allowed(facts)
        return AccessibleRow(row, facts)

    async def read_inside(
        self, disclosure: Disclosure, read: Callable[[], Awaitable[Found]]
    ) -> Found:
        """Read something inside of what *disclosure* is about; raises as `file`."""
        return await self._read(disclosure, read)

    # -- many

    async def check_files(self, files: Sequence[File]) -> list[bool]:
        """Say of each file whether it may be seen."""
        return [self.allows(facts) for facts in await self.fact_loader.load_file_facts(files)]

    async def visible_folders(self, keys: Collection[ItemKey]) -> frozenset[ItemKey]:
        """
        Return those folders that may be told of by what lies in them.

        The top of a library is one of them: it stands for the library, in which something is seen.
        """
        unread = [one for one in dict.fromkeys(keys) if one not in self._folders]
        if unread:
            self._folders.update(dict.fromkeys(unread, False))
            read = await self._content.items(unread, wanted=self.fact_loader.file_attributes)
            folders = [one for one in read.values() if isinstance(one, File)]
            seen = await self.check_files(folders)
            self._folders.update(
                {one.key: one.is_root or shown for one, shown in zip(folders, seen, strict=True)}
            )
        return frozenset(one for one in keys if self._folders[one])

    async def check_rows(self, rows: Sequence[Row]) -> list[bool]:
        """Say of each list item whether it may be seen."""
        return [self.allows(facts) for facts in await self.fact_loader.load_row_facts(rows)]

    def visible_lists(self, lists: Sequence[SiteList]) -> list[SiteList]:
        """Keep the lists that may be seen."""
        return [one for one in lists if self.allows(self.fact_loader.list_facts(one))]

    async def fully_visible_lists(self, keys: Collection[ListKey]) -> frozenset[ListKey]:
        """Return the lists in which every item may be seen, whatever it is."""
        read = await self._content.lists_by_id(keys)
        inside = {
            key: self.fact_loader.shared_row_facts(one)
            for key, one in read.items()
            if isinstance(one, SiteList)
        }
        return frozenset(
            key
            for key, facts in inside.items()
            if self._rules.blocking_rule(facts) is None and self._rules.allows_contents(facts)
        )

    def visible_sites(self, sites: Sequence[Site]) -> list[Site]:
        """Keep the sites that may be seen."""
        return [one for one in sites if self.allows_site(one.site)]

    def listable_drives(self, drives: Sequence[Drive]) -> list[Drive]:
        """Keep the libraries that something visible may lie in."""
        return [
            one
            for one in drives
            if self._rules.may_contain_visible(self.fact_loader.drive_facts(one))
        ]

    # -- verdicts

    def allows_site(self, site: str) -> bool:
        """Say whether a site may be seen."""
        return self.allows(Facts(site_id=site))

    def allows(self, facts: Facts) -> bool:
        """Say whether the rules allow what has these facts."""
        return self._rules.decide(facts).allowed

    def require_allowed(self, facts: Facts) -> None:
        """
        Let pass what is allowed.

        Raises:
            Blocked: It is not.
        """
        decision = self._rules.decide(facts)
        if not decision.allowed:
            raise Blocked(decision.rule_id, facts=facts)

    def require_child_allowed(self, folder: Facts, child: Facts) -> None:
        """
        Let pass a *child* of a *folder* that is about to be changed with all that lies in it.

        Raises:
            Blocked: It is not allowed; without a rule that blocks it, all of the folder is not.
        """
        decision = self._rules.decide(child)
        if not decision.allowed and decision.rule_id is None:
            raise Blocked(action=BlockedAction.CHANGE_TREE, facts=folder, child=child)
        if not decision.allowed:
            raise Blocked(decision.rule_id, facts=child)

    def unchecked_contents(self, folder: Facts, inside: Facts) -> Blocked:
        """Refuse a *folder* of which too much is not known; *inside* is known of all in it."""
        return Blocked(
            self._rules.blocking_rule(inside),
            action=BlockedAction.CHANGE_TREE,
            facts=folder,
            child=inside,
        )

    def require_creation(self, parent: Facts, child: Facts) -> None:
        """
        Let a new *child* be made below *parent*.

        Raises:
            Blocked: It may not.
        """
        if not self._rules.allows_creation(parent, child):
            rule_id = self._rules.blocking_rule(child)
            if rule_id is None:
                rule_id = self._rules.blocking_rule(parent)
            raise Blocked(rule_id, action=BlockedAction.CREATE_CHILD, facts=parent, child=child)

    def allows_all_inside(self, inside: Facts) -> bool:
        """
        Say whether rules about places alone allow everything inside of something.

        *inside* are the facts of what lies in it; further folders may be in between.
        """
        deeper = replace(inside, ancestors=UNKNOWN)
        return self._rules.blocking_rule(deeper) is None and self._rules.allows_contents(inside)

    def require_place_allowed(self, folder: Facts, child: Facts) -> None:
        """
        Let pass a *folder* in which everything is allowed; *child* is what is known of all that.

        Raises:
            Blocked: Something in it might not be.
        """
        if not self._rules.allows_contents(child):
            raise Blocked(action=BlockedAction.CHANGE_TREE, facts=folder, child=child)

    def _blocked(self, facts: Facts, action: BlockedAction) -> Blocked:
        return Blocked(self._rules.blocking_rule(facts), action=action, facts=facts)

    async def _item(
        self, key: ItemKey, wanted: AbstractSet[str], action: BlockedAction
    ) -> tuple[File, Facts]:
        ids = await self.fact_loader.load_item_id_facts(key)
        wants = wanted | self.fact_loader.file_attributes
        disclosure = self._rules.disclosure(ids, listing=action is not BlockedAction.READ)
        fact_loader = self._fact_loader(disclosure)
        found = await self._read(
            disclosure,
            lambda: fact_loader.content.item(key, wanted=wants),
            ids=ids,
            action=action,
            pad_calls=lambda: self._pad_calls(key),
        )
        (facts,) = await fact_loader.load_file_facts([found])
        self.fact_loader.merge(fact_loader)
        return found, facts

    def _fact_loader(self, disclosure: Disclosure) -> FactLoader:
        """Return what finds out about one thing: one whose cost tells nothing, if that matters."""
        if disclosure is not Disclosure.UNDISCLOSED:
            return FactLoader(self._content, self._rules)
        return FactLoader(self._content.exhaustive(), self._rules)

    async def _pad_calls(self, key: ItemKey | RowKey) -> None:
        """Make what is denied cost as many calls as anything else that is denied so."""
        content = self._content.exhaustive()
        if isinstance(key, ItemKey):
            await self.fact_loader.pad_calls(lambda: content.items([key], wanted=NOTHING))
        else:
            await self.fact_loader.pad_calls(lambda: content.rows_by_id([key], wanted=NOTHING))

    async def _read(
        self,
        disclosure: Disclosure,
        read: Callable[[], Awaitable[Found]],
        *,
        ids: Facts | None = None,
        action: BlockedAction = BlockedAction.READ,
        pad_calls: Callable[[], Awaitable[None]] | None = None,
    ) -> Found:
        if disclosure is Disclosure.DENIED:
            raise Blocked if ids is None else self._blocked(ids, action)
        try:
            return await read()
        except Missing as missing:
            if disclosure is Disclosure.UNDISCLOSED:
                if pad_calls is not None:
                    await pad_calls()
                raise Blocked(action=action, facts=ids) from missing
            raise NotFound("There is nothing under this id.") from missing
