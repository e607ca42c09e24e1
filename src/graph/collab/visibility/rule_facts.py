"""
What rules ask about, found out: no more than the token's rules need, and once per request.

Whatever upstream did not tell stays UNKNOWN, which blocks and never allows. What one resource needs
is asked for in batches: `of_files` and its like take everything of a page at once. Source:
decisions 4 and 16; reference, reliability 4.2.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from policy.rules import UNKNOWN, Facts, ItemKey, RuleSet, TextFact, UnknownFact
from policy.vocabulary import RuleType
from providers.content import ids as collab_ids
from providers.content.ancestors import Ancestors
from providers.content.ids import ItemKey as Key
from providers.content.ids import ListKey
from providers.content.merged_content import MergedContent
from providers.records import collab as records
from providers.records.collab import UNKNOWN as UNTOLD
from providers.records.collab import Drive, File, FileLabel, Row, SiteList

# Rule type -> what must be read of a file, or of a list item, to decide by it.
_OF_FILE: Mapping[RuleType, tuple[str, ...]] = MappingProxyType(
    {
        RuleType.SITE_ID: ("site",),
        RuleType.LIST_ID: ("list_id",),
        RuleType.LIST_ITEM_ID: ("list_id", "list_item_id"),
        RuleType.CONTENT_TYPE_ID: ("content_type_id",),
    }
)
_OF_ROW: Mapping[RuleType, tuple[str, ...]] = MappingProxyType(
    {
        RuleType.FILE_ID: ("file",),
        RuleType.FOLDER: ("file",),
        RuleType.DRIVE_ID: ("file",),
        RuleType.MIME_TYPE: ("file",),
        RuleType.SENSITIVITY_LABEL_ID: ("file",),
        RuleType.CONTENT_TYPE_ID: ("content_type_id",),
    }
)
# What must be asked for besides, in batches.
_CALLED_FOR = frozenset({RuleType.FOLDER, RuleType.SENSITIVITY_LABEL_ID})
_PLACE = (RuleType.SITE_ID, RuleType.LIST_ID, RuleType.LIST_ITEM_ID)

# What is known of the file that a list item has not, or may have.
_FACELESS = Facts()
_FACE_LOST = Facts(
    item=UNKNOWN, drive_id=UNKNOWN, ancestors=UNKNOWN, mime_type=UNKNOWN, label_ids=UNKNOWN
)

Labels = tuple[FileLabel, ...] | records.Unknown


@dataclass(slots=True)
class FactLoader:
    """One request's knowledge of what its rules ask about."""

    content: MergedContent
    rules: RuleSet
    _above: dict[Key, Ancestors] = field(default_factory=dict)
    _labels: dict[Key, Labels] = field(default_factory=dict)
    _drives: dict[str, Drive | records.Unknown | None] = field(default_factory=dict)
    _fact_calls: int = 0  # calls for facts that `pad_calls` makes up for

    # -- what to read beside what is shown

    @property
    def file_attributes(self) -> frozenset[str]:
        """The attributes of `File` that the rules need."""
        return self._wants(_OF_FILE)

    @property
    def row_attributes(self) -> frozenset[str]:
        """The attributes of `Row` that the rules need."""
        return self._wants(_OF_ROW)

    # -- facts of what was read

    async def load_file_facts(self, files: Sequence[File]) -> list[Facts]:
        """Return the facts of each of *files*."""
        needs = self.rules.rule_types
        if RuleType.FOLDER in needs:
            asked = [one.key for one in files if one.key not in self._above]
            self._above.update(await self.content.ancestors(asked))
            self._fact_calls += any(not one.is_root for one in files)
        if RuleType.SENSITIVITY_LABEL_ID in needs:
            labelled = {one.key for one in files if not one.is_folder}
            await self.labels(labelled)
            self._fact_calls += bool(labelled)
        if needs.intersection(_PLACE):
            lost = {one.drive for one in files if UNTOLD in (one.site, one.list_id)}
            await self.drives(lost)
        return [self._of_file(one) for one in files]

    async def load_row_facts(self, rows: Sequence[Row]) -> list[Facts]:
        """Return the facts of each of *rows*, those of its file among them."""
        faces = [row.file for row in rows if isinstance(row.file, File)]
        known = dict(
            zip([face.key for face in faces], await self.load_file_facts(faces), strict=True)
        )
        return [self._of_row(row, known) for row in rows]

    def list_facts(self, one: SiteList) -> Facts:
        """Return the facts of a list; of a library too, when it is one."""
        return Facts(drive_id=_told(one.drive), site_id=one.site, list_id=one.list)

    def shared_row_facts(self, one: SiteList) -> Facts:
        """Return what all items of a list have in common; the rest is unknown."""
        face = _FACELESS if one.drive is None else replace(_FACE_LOST, drive_id=_told(one.drive))
        return replace(
            face,
            site_id=one.site,
            list_id=one.list,
            list_item_id=UNKNOWN,
            content_type_id=UNKNOWN,
        )

    def drive_facts(self, one: Drive) -> Facts:
        """Return the facts of a library, which is a list too."""
        return Facts(drive_id=one.drive, site_id=_told(one.site), list_id=_told(one.list_id))

    async def pad_calls(self, read: Callable[[], Awaitable[object]]) -> None:
        """
        Make the calls that the facts of one denied thing did not need.

        What is missing, what is denied at the top of a library and what is denied deep inside of
        one cost the same calls, so that these do not tell which it was (reliability 4.3). *read*
        makes one call of the kind that facts take.
        """
        for _ in range(self._fact_calls, len(self.rules.rule_types & _CALLED_FOR)):
            await read()

    def merge(self, other: "FactLoader") -> None:
        """Take over what another survey of the same request found out."""
        self._above.update(other._above)  # noqa: SLF001 - one of us
        self._labels.update(other._labels)  # noqa: SLF001
        self._drives.update(other._drives)  # noqa: SLF001
        self._fact_calls += other._fact_calls  # noqa: SLF001

    # -- facts of what was not read yet

    async def load_item_id_facts(self, key: Key) -> Facts:
        """Return what an id alone tells of a file: itself and its library, and where that is."""
        site: TextFact = UNKNOWN
        list_id: TextFact = UNKNOWN
        if self.rules.rule_types & {RuleType.SITE_ID, RuleType.LIST_ID}:
            drive = (await self.drives({key.drive})).get(key.drive)
            if isinstance(drive, Drive):
                site, list_id = _told(drive.site), _told(drive.list_id)
            elif drive is None:  # there is no such library, so no rule about places can match
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
        """Return what an id alone tells of a list, or of the item *number* of it."""
        face = _FACE_LOST if number is not None else Facts(drive_id=UNKNOWN)
        return replace(
            face,
            site_id=key.site,
            list_id=key.list,
            list_item_id=number,
            content_type_id=UNKNOWN if number is not None else None,
        )

    # -- what both rules and answers ask

    async def labels(self, keys: Collection[Key]) -> Mapping[Key, Labels]:
        """Return the sensitivity labels of files."""
        asked = [key for key in dict.fromkeys(keys) if key not in self._labels]
        if asked:
            found = await self.content.file_labels(asked)
            self._labels.update({key: found.get(key, UNTOLD) for key in asked})
        return self._labels

    async def drives(self, drives: Collection[str]) -> Mapping[str, Drive | records.Unknown | None]:
        """Return libraries by their ids."""
        asked = [one for one in dict.fromkeys(drives) if one not in self._drives]
        if asked:
            # In block-all mode a guess at a library must cost as much as a library that is denied.
            content = self.content if self.rules.allow_by_default else self.content.exhaustive()
            found = await content.drives_by_id(asked)
            self._drives.update({one: found.get(one, UNTOLD) for one in asked})
        return self._drives

    def _wants(self, table: Mapping[RuleType, tuple[str, ...]]) -> frozenset[str]:
        return frozenset(
            name for rule_type in self.rules.rule_types for name in table.get(rule_type, ())
        )

    def _of_file(self, one: File) -> Facts:
        drive = self._drives.get(one.drive)
        site, list_id = one.site, one.list_id
        if isinstance(drive, Drive):
            site = drive.site if site is UNTOLD else site
            list_id = drive.list_id if list_id is UNTOLD else list_id
        labels: Labels = () if one.is_folder else self._labels.get(one.key, UNTOLD)
        return Facts(
            item=(one.drive, one.item),
            drive_id=one.drive,
            ancestors=_above(self._above.get(one.key, UNTOLD)),
            site_id=_told(site),
            list_id=_told(list_id),
            # The top of a library is a folder without a row of its own.
            list_item_id=None if one.is_root else _told(one.list_item_id),
            mime_type=_told(one.media_type),
            label_ids=_label_ids(labels),
            content_type_id=None if one.is_root else _told(one.content_type_id),
        )

    def _of_row(self, row: Row, faces: Mapping[Key, Facts]) -> Facts:
        face = _FACELESS if row.file is None else _FACE_LOST
        if isinstance(row.file, File):
            face = faces[row.file.key]
        return replace(
            face,
            site_id=row.site,
            list_id=row.list,
            list_item_id=row.number,
            content_type_id=_told(row.content_type_id),
        )


def _told(fact: records.Fact) -> TextFact:
    return UNKNOWN if fact is UNTOLD else fact


def _above(folders: Ancestors) -> frozenset[ItemKey] | Literal[UnknownFact.UNKNOWN]:
    return UNKNOWN if folders is UNTOLD else frozenset((one.drive, one.item) for one in folders)


def _label_ids(labels: Labels) -> frozenset[str] | Literal[UnknownFact.UNKNOWN]:
    return UNKNOWN if labels is UNTOLD else frozenset(one.label_id for one in labels)
