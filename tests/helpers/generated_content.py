"""
Sites, libraries, files, lists and rows made by chance: as the sandbox keeps them, as the oracle of
rules (`rule_oracle`) reads them, and rules about them as the management API takes them.

Every name has a word of its own (``n17n``), so that a name in an answer tells whose it is, and
every text has the word ``keel``, so that a search for it finds everything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import content_world
import msgspec
import rule_oracle
from content_world import ANN, BOB, HOST, MAIN, PEOPLE, WHEN, WRITE, ContentWorld, column
from generated_rules import MIME_PATTERNS, RuleWorld, Thing
from world import World

from policy.rules import Rule
from policy.vocabulary import RuleAction, RuleType
from sandbox.collab import records as r
from sandbox.collab.builders import Maker

ODD = ("", " & co", "'s", " ü", " 100%", " #1", " (2)", "+", " 漢")
DOCUMENT = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
TYPES = (  # ending, and the MIME type that upstream has
    (".docx", DOCUMENT),
    (".docx", ""),
    (".pdf", "application/pdf"),
    (".txt", "text/plain"),
    (".png", "image/png"),
    (".png", "Image/PNG; charset=x"),
)
ITEM_TYPES = (r.ContentType(id="0x0100", name="Item"), r.ContentType(id="0x0101aa", name="Berth"))
GLOBS = (*(one for one in MIME_PATTERNS if "/" in one), "*", "application/vnd*", "*/*document")
ApiRule = tuple[str, str, str]
Policy = tuple[bool, Sequence[Rule]]


@dataclass
class Ruled:
    """
    What was made, by the ids of the API.

    Attributes:
        things: What the oracle reads of each site, list, file, folder and item of a plain list.
        words: The word that its name alone has.
        tops: The root folder of each library, and the library's site.
        lists: Every list, those behind libraries included, and its site.
        faces: A list item that is a file, and the file.
        hidden: The lists that people do not see.
        texts: The bytes of each file that search can read.
    """

    content: ContentWorld
    things: dict[str, Thing] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    tops: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    faces: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    records: dict[str, r.Item | r.Row | r.SiteList] = field(default_factory=dict)

    @property
    def sites(self) -> list[str]:
        return [one for one, thing in self.things.items() if not (thing.list or thing.drive)]

    @property
    def files(self) -> list[str]:
        """Every file and folder, roots included."""
        return [one for one, thing in self.things.items() if thing.item]

    @property
    def rows(self) -> list[str]:
        """Every list item, those that are files included."""
        plain = (one for one in self.things if ":list:" in one and ":item:" in one)
        return [*plain, *self.faces]

    def is_folder(self, file: str) -> bool:
        return file in self.tops or self.things[file].content_type == "0x0120"

    def inside(self, folder: str) -> Iterator[str]:
        """Yield what lies directly in a folder."""
        of = self.things[folder]
        for one in self.files:
            if (self.things[one].drive, self.things[one].parent) == (of.drive, of.item):
                yield one

    def below(self, folder: str) -> Iterator[str]:
        """Yield what lies in a folder at any depth."""
        for one in self.inside(folder):
            yield one
            yield from self.below(one)

    def allowed(self, policies: Sequence[Policy]) -> list[set[str]]:
        """Ask the oracle what each policy lets see."""
        ids = list(self.things)
        found: list[set[str]] = [set() for _ in policies]
        world = RuleWorld(list(self.things.values()), policies)
        for policy, thing, is_allowed in rule_oracle.verdicts(world):
            if is_allowed:
                found[policy].add(ids[thing])
        for seen in found:
            seen |= {row for row, file in self.faces.items() if file in seen}
        return found

    async def token(self, rules: Sequence[ApiRule], *, allow_all: bool, **settings: Any) -> str:
        """Make a token with these rules."""
        return await self.content.token(*rules, collabAllowAllDefault=allow_all, **settings)


async def made(world: World, chance: Random) -> Ruled:
    """Put content made by chance into *world*, and connect it."""
    shelf = world.sandbox.ground.shelf
    shelf.refresh()
    make = Maker(shelf, when=WHEN, author=ANN)
    make.people({ANN: "Ann Miller", BOB: "Bob Stone"})
    ruled = Ruled(ContentWorld(world, make, {}, {}))
    _Making(ruled, make, chance).all()
    make.keep()
    await content_world.connect(world, resource=MAIN, scopes=WRITE)
    ruled.content.forget_calls()
    return ruled


def rules(ruled: Ruled, chance: Random, count: int) -> tuple[list[ApiRule], list[Rule]]:
    """Make rules about things of the world, as the API takes them and as the oracle does."""
    found: dict[tuple[str, str, str], tuple[ApiRule, Rule]] = {}
    while len(found) < count:
        action = chance.choice(list(RuleAction))
        kind, given, raw = _rule(ruled, chance, action)
        if given:
            rule = Rule(id=len(found) + 1, rule_type=kind, pattern=raw, action=action)
            found.setdefault((kind, raw, action), ((str(kind), given, str(action)), rule))
    return [api for api, _ in found.values()], [rule for _, rule in found.values()]


def _rule(ruled: Ruled, chance: Random, action: RuleAction) -> tuple[RuleType, str, str]:
    """Return a type, the pattern as a person would write it, and as it is matched; "" for none."""
    kind = chance.choice(list(RuleType))
    known, thing = chance.choice(list(ruled.things.items()))
    whole = chance.random() < 0.5
    match kind:
        case RuleType.FILE_ID if thing.item:
            return (
                (kind, known, f"{thing.drive}:{thing.item}")
                if whole
                else (kind, thing.item, thing.item)
            )
        case RuleType.FOLDER:
            folder = chance.choice([one for one in ruled.files if ruled.is_folder(one)])
            of = ruled.things[folder]
            return (kind, folder, f"{of.drive}:{of.item}") if whole else (kind, of.item, of.item)
        case RuleType.DRIVE_ID if thing.drive:
            return kind, f"collab:drive:{thing.drive}" if whole else thing.drive, thing.drive
        case RuleType.SITE_ID:
            return kind, f"collab:site:{thing.site.upper()}" if whole else thing.site, thing.site
        case RuleType.LIST_ID if thing.list:
            given = f"collab:site:{thing.site}:list:{thing.list}" if whole else thing.list.upper()
            return kind, given, thing.list
        case RuleType.LIST_ITEM_ID if thing.number:
            if not whole and action is RuleAction.BLOCK:
                return kind, thing.number, thing.number
            given = f"collab:site:{thing.site}:list:{thing.list}:item:{thing.number}"
            return kind, given, f"{thing.list}:{thing.number}"
        case RuleType.MIME_TYPE:
            pattern = chance.choice(GLOBS)
            return kind, pattern.upper() if whole else pattern, pattern
        case RuleType.SENSITIVITY_LABEL_ID:
            label = chance.choice(ruled.labels)
            return kind, label.upper() if whole else label, label
        case RuleType.CONTENT_TYPE_ID:
            pattern = chance.choice(("0x0100", "0x0101AA", "0x0101", "0x0120"))
            return kind, pattern, pattern
    return kind, "", ""


class _Making:
    def __init__(self, ruled: Ruled, make: Maker, chance: Random) -> None:
        self.ruled, self.make, self.chance = ruled, make, chance
        self.names = 0

    def all(self) -> None:
        for number in (1, 2, 3):
            guid = f"00000000-0000-4000-8000-0000000000a{number}"
            self.ruled.labels.append(guid)
            self.make.add(
                r.Label(
                    id=guid,
                    name=f"Label {number}",
                    description="",
                    tooltip="",
                    color="Green",
                    priority=number,
                )
            )
        self.site(HOST, "")
        self.site(HOST, "/sites/yard", description="keel")
        if self.chance.random() < 0.5:
            self.site(PEOPLE, "/personal/ann", owner=ANN)

    def name(self) -> tuple[str, str]:
        """Return a name, and the word that it alone has."""
        self.names += 1
        word = f"n{self.names}n"
        return f"keel {word}{self.chance.choice(ODD)}", word

    def note(self, found: str, thing: Thing, word: str) -> None:
        self.ruled.things[found] = thing
        self.ruled.words[found] = word

    def site(self, host: str, path: str, **more: Any) -> None:
        name, word = self.name()
        site = self.make.site(host, path, name, **more)
        place = Thing(site=site.id.lower())
        self.note(f"collab:site:{place.site}", place, word)
        for _ in range(self.chance.randint(1, 2)):
            self.library(site, place)
        for _ in range(0 if site.owner else self.chance.randint(0, 2)):
            self.list_in(site, place)

    def library(self, site: r.Site, of: Thing) -> None:
        chance = self.chance
        name, word = self.name()
        root = self.make.library(site, name)
        self.make.keep()
        shelved = self.make.shelf.get(r.Library, root.drive_id)
        assert shelved is not None
        guid = shelved.list_id
        place = replace(of, drive=root.drive_id, list=guid)
        listed = f"collab:site:{of.site}:list:{guid}"
        self.note(listed, place, word)
        self.ruled.lists[listed] = f"collab:site:{of.site}"
        top = f"collab:drive:{root.drive_id}:item:{root.id}"
        self.note(top, replace(place, item=root.id), word)
        self.ruled.tops[top] = f"collab:site:{of.site}"
        folders = [(root, 0)]
        for _ in range(chance.randint(2, 8)):
            parent, depth = chance.choice(folders)
            if depth < 4 and chance.random() < 0.45:
                folders.append((self.folder(parent, place, listed), depth + 1))
            else:
                self.file(parent, place, listed)

    def folder(self, parent: r.Item, place: Thing, listed: str) -> r.Item:
        name, word = self.name()
        folder = self.make.folder(parent, name, modified=self.when())
        self.item(folder, replace(place, content_type="0x0120"), listed, word)
        return folder

    def file(self, parent: r.Item, place: Thing, listed: str) -> None:
        chance = self.chance
        name, word = self.name()
        ending, mime = chance.choice(TYPES)
        source = ("docx" if ending == ".docx" else "text", f"keel {word} " * chance.randint(1, 9))
        file = self.make.file(parent, name + ending, source, mime=mime, modified=self.when())
        lost = set() if mime else {"mime_type"}
        labels: set[str] = set()
        if ending in (".docx", ".pdf") and chance.random() < 0.5:
            labels.add(chance.choice(self.ruled.labels))
            file = msgspec.structs.replace(file, label=next(iter(labels)))
            if chance.random() < 0.3:
                file = msgspec.structs.replace(file, label_trouble="notAllowed")
                lost.add("label_ids")
            self.make.add(file)
        facts = replace(
            place,
            mime=mime.lower().partition(";")[0],
            labels=frozenset(labels),
            content_type="0x0101",
            lost=frozenset(lost),
        )
        self.item(file, facts, listed, word)

    def item(self, made: r.Item, facts: Thing, listed: str, word: str) -> None:
        found = f"collab:drive:{made.drive_id}:item:{made.id}"
        number = str(made.number)
        self.note(found, replace(facts, item=made.id, parent=made.parent_id, number=number), word)
        self.ruled.faces[f"{listed}:item:{number}"] = found
        self.ruled.records[found] = made

    def list_in(self, site: r.Site, of: Thing) -> None:
        chance = self.chance
        name, word = self.name()
        hidden = chance.random() < 0.25
        columns = (column("Length", "number", is_indexed=True), column("Note", "text"))
        one = self.make.list_in(
            site, name, columns, is_hidden=hidden, content_types=ITEM_TYPES, description="keel"
        )
        place = replace(of, list=one.id)
        listed = f"collab:site:{of.site}:list:{one.id}"
        self.note(listed, place, word)
        self.ruled.lists[listed] = f"collab:site:{of.site}"
        self.ruled.records[listed] = one
        if hidden:
            self.ruled.hidden.add(listed)
        for _ in range(chance.randint(0, 5)):
            title, own = self.name()
            kind = chance.choice(ITEM_TYPES).id
            fields = {"Title": title, "Length": chance.randint(1, 3), "Note": f"keel {own}"}
            row = self.make.row(one, fields, content_type=kind)
            found = f"{listed}:item:{row.number}"
            self.note(found, replace(place, number=str(row.number), content_type=kind), own)
            self.ruled.records[found] = row

    def when(self) -> str:
        return f"2026-02-{self.chance.randint(1, 28):02}T08:00:00Z"
