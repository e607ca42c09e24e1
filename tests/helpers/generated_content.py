"""
Random sites, libraries, files, lists and rows: as the sandbox stores them, as the rule oracle
(`rule_oracle`) reads them, and rules about them as the management API accepts them.

Every name contains a unique word (``n17n``), so that a name in a response identifies its resource,
and every text contains the word ``keel``, so that a search for it finds everything.
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

from policy.rule_facts import Rule
from policy.vocabulary import RuleAction, RuleType
from sandbox.collab import records as r
from sandbox.collab.builders import ContentBuilder

SUFFIXES = ("", " & co", "'s", " ü", " 100%", " #1", " (2)", "+", " 漢")
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
GLOBS = (
    *(pattern for pattern in MIME_PATTERNS if "/" in pattern),
    "*",
    "application/vnd*",
    "*/*document",
)
ApiRule = tuple[str, str, str]
Policy = tuple[bool, Sequence[Rule]]


@dataclass
class GeneratedContent:
    """
    The generated resources, by the ids of the API.

    Attributes:
        things: The oracle's view of each site, list, file, folder and item of a plain list.
        words: The unique word of each name.
        roots: The root folder of each library, and the library's site.
        lists: Every list, those behind libraries included, and its site.
        row_files: List item -> the file that it is.
        hidden: The lists that are marked as hidden.
    """

    content: ContentWorld
    facts: dict[str, Thing] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    roots: dict[str, str] = field(default_factory=dict)
    lists: dict[str, str] = field(default_factory=dict)
    row_files: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    labels: list[str] = field(default_factory=list)
    records: dict[str, r.Item | r.Row | r.SiteList] = field(default_factory=dict)

    @property
    def sites(self) -> list[str]:
        return [
            resource_id
            for resource_id, thing in self.facts.items()
            if not (thing.list or thing.drive)
        ]

    @property
    def files(self) -> list[str]:
        """Every file and folder, roots included."""
        return [resource_id for resource_id, thing in self.facts.items() if thing.item]

    @property
    def rows(self) -> list[str]:
        """Every list item, files included."""
        plain = (
            resource_id
            for resource_id in self.facts
            if ":list:" in resource_id and ":item:" in resource_id
        )
        return [*plain, *self.row_files]

    def is_folder(self, file: str) -> bool:
        return file in self.roots or self.facts[file].content_type == "0x0120"

    def inside(self, folder: str) -> Iterator[str]:
        """Yield the direct contents of a folder."""
        of = self.facts[folder]
        for file in self.files:
            if (self.facts[file].drive, self.facts[file].parent) == (of.drive, of.item):
                yield file

    def below(self, folder: str) -> Iterator[str]:
        """Yield the contents of a folder at any depth."""
        for file in self.inside(folder):
            yield file
            yield from self.below(file)

    def allowed(self, policies: Sequence[Policy]) -> list[set[str]]:
        """Return what each policy allows, by the oracle."""
        ids = list(self.facts)
        allowed_by_policy: list[set[str]] = [set() for _ in policies]
        world = RuleWorld(list(self.facts.values()), policies)
        for policy, thing, is_allowed in rule_oracle.verdicts(world):
            if is_allowed:
                allowed_by_policy[policy].add(ids[thing])
        for allowed in allowed_by_policy:
            allowed |= {row for row, file in self.row_files.items() if file in allowed}
        return allowed_by_policy

    async def token(self, rules: Sequence[ApiRule], *, allow_all: bool, **settings: Any) -> str:
        """Create a token with these rules."""
        return await self.content.token(*rules, collabAllowAllDefault=allow_all, **settings)


async def generate(world: World, chance: Random) -> GeneratedContent:
    """Put random content into *world*, and connect it."""
    shelf = world.sandbox.state.content
    shelf.refresh()
    make = ContentBuilder(shelf, when=WHEN, author=ANN)
    make.people({ANN: "Ann Miller", BOB: "Bob Stone"}, sign_in_names=content_world.SIGN_IN_NAMES)
    generated = GeneratedContent(ContentWorld(world, make, {}, {}))
    _Generator(generated, make, chance).all()
    make.save()
    await content_world.connect(world, resource=MAIN, scopes=WRITE)
    generated.content.forget_calls()
    return generated


def rules(
    generated: GeneratedContent, chance: Random, count: int
) -> tuple[list[ApiRule], list[Rule]]:
    """Generate rules about resources, in the form of the API and of the oracle."""
    rules_by_key: dict[tuple[str, str, str], tuple[ApiRule, Rule]] = {}
    while len(rules_by_key) < count:
        action = chance.choice(list(RuleAction))
        kind, pattern, raw = _rule(generated, chance, action)
        if pattern:
            rule = Rule(id=len(rules_by_key) + 1, rule_type=kind, pattern=raw, action=action)
            rules_by_key.setdefault((kind, raw, action), ((str(kind), pattern, str(action)), rule))
    return [api for api, _ in rules_by_key.values()], [rule for _, rule in rules_by_key.values()]


def _rule(
    generated: GeneratedContent, chance: Random, action: RuleAction
) -> tuple[RuleType, str, str]:
    """Return a type, the pattern as written, and as matched; "" when the type does not apply."""
    kind = chance.choice(list(RuleType))
    resource_id, thing = chance.choice(list(generated.facts.items()))
    prefixed = chance.random() < 0.5
    match kind:
        case RuleType.FILE_ID if thing.item:
            return (
                (kind, resource_id, f"{thing.drive}:{thing.item}")
                if prefixed
                else (kind, thing.item, thing.item)
            )
        case RuleType.FOLDER:
            folder = chance.choice([file for file in generated.files if generated.is_folder(file)])
            of = generated.facts[folder]
            return (kind, folder, f"{of.drive}:{of.item}") if prefixed else (kind, of.item, of.item)
        case RuleType.DRIVE_ID if thing.drive:
            return kind, f"collab:drive:{thing.drive}" if prefixed else thing.drive, thing.drive
        case RuleType.SITE_ID:
            return kind, f"collab:site:{thing.site.upper()}" if prefixed else thing.site, thing.site
        case RuleType.LIST_ID if thing.list:
            written = (
                f"collab:site:{thing.site}:list:{thing.list}" if prefixed else thing.list.upper()
            )
            return kind, written, thing.list
        case RuleType.LIST_ITEM_ID if thing.number:
            if not prefixed and action is RuleAction.BLOCK:
                return kind, thing.number, thing.number
            written = f"collab:site:{thing.site}:list:{thing.list}:item:{thing.number}"
            return kind, written, f"{thing.list}:{thing.number}"
        case RuleType.MIME_TYPE:
            pattern = chance.choice(GLOBS)
            return kind, pattern.upper() if prefixed else pattern, pattern
        case RuleType.SENSITIVITY_LABEL_ID:
            label = chance.choice(generated.labels)
            return kind, label.upper() if prefixed else label, label
        case RuleType.CONTENT_TYPE_ID:
            pattern = chance.choice(("0x0100", "0x0101AA", "0x0101", "0x0120"))
            return kind, pattern, pattern
    return kind, "", ""


class _Generator:
    def __init__(self, generated: GeneratedContent, make: ContentBuilder, chance: Random) -> None:
        self.generated, self.make, self.chance = generated, make, chance
        self.names = 0

    def all(self) -> None:
        for number in (1, 2, 3):
            guid = f"00000000-0000-4000-8000-0000000000a{number}"
            self.generated.labels.append(guid)
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
        """Return a name and its unique word."""
        self.names += 1
        word = f"n{self.names}n"
        return f"keel {word}{self.chance.choice(SUFFIXES)}", word

    def record(self, resource_id: str, thing: Thing, word: str) -> None:
        self.generated.facts[resource_id] = thing
        self.generated.words[resource_id] = word

    def site(self, host: str, path: str, **more: Any) -> None:
        name, word = self.name()
        site = self.make.site(host, path, name, **more)
        place = Thing(site=site.id.lower())
        self.record(f"collab:site:{place.site}", place, word)
        for _ in range(self.chance.randint(1, 2)):
            self.library(site, place)
        for _ in range(0 if site.owner else self.chance.randint(0, 2)):
            self.list_in(site, place)

    def library(self, site: r.Site, of: Thing) -> None:
        chance = self.chance
        name, word = self.name()
        root = self.make.library(site, name)
        self.make.save()
        library = self.make.store.get(r.Library, root.drive_id)
        assert library is not None
        guid = library.list_id
        place = replace(of, drive=root.drive_id, list=guid)
        list_id = f"collab:site:{of.site}:list:{guid}"
        self.record(list_id, place, word)
        self.generated.lists[list_id] = f"collab:site:{of.site}"
        top = f"collab:drive:{root.drive_id}:item:{root.id}"
        self.record(top, replace(place, item=root.id), word)
        self.generated.roots[top] = f"collab:site:{of.site}"
        folders = [(root, 0)]
        for _ in range(chance.randint(2, 8)):
            parent, depth = chance.choice(folders)
            if depth < 4 and chance.random() < 0.45:
                folders.append((self.folder(parent, place, list_id), depth + 1))
            else:
                self.file(parent, place, list_id)

    def folder(self, parent: r.Item, place: Thing, list_id: str) -> r.Item:
        name, word = self.name()
        folder = self.make.folder(parent, name, modified=self.when())
        self.item(folder, replace(place, content_type="0x0120"), list_id, word)
        return folder

    def file(self, parent: r.Item, place: Thing, list_id: str) -> None:
        chance = self.chance
        name, word = self.name()
        ending, mime = chance.choice(TYPES)
        source = ("docx" if ending == ".docx" else "text", f"keel {word} " * chance.randint(1, 9))
        file = self.make.file(parent, name + ending, source, mime=mime, modified=self.when())
        lost = set() if mime else {"mime_type"}
        labels: set[str] = set()
        if ending in (".docx", ".pdf") and chance.random() < 0.5:
            labels.add(chance.choice(self.generated.labels))
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
        self.item(file, facts, list_id, word)

    def item(self, item: r.Item, facts: Thing, list_id: str, word: str) -> None:
        resource_id = f"collab:drive:{item.drive_id}:item:{item.id}"
        number = str(item.number)
        self.record(
            resource_id, replace(facts, item=item.id, parent=item.parent_id, number=number), word
        )
        self.generated.row_files[f"{list_id}:item:{number}"] = resource_id
        self.generated.records[resource_id] = item

    def list_in(self, site: r.Site, of: Thing) -> None:
        chance = self.chance
        name, word = self.name()
        hidden = chance.random() < 0.25
        columns = (column("Length", "number", is_indexed=True), column("Note", "text"))
        site_list = self.make.list_in(
            site, name, columns, is_hidden=hidden, content_types=ITEM_TYPES, description="keel"
        )
        place = replace(of, list=site_list.id)
        list_id = f"collab:site:{of.site}:list:{site_list.id}"
        self.record(list_id, place, word)
        self.generated.lists[list_id] = f"collab:site:{of.site}"
        self.generated.records[list_id] = site_list
        if hidden:
            self.generated.hidden.add(list_id)
        for _ in range(chance.randint(0, 5)):
            title, own = self.name()
            kind = chance.choice(ITEM_TYPES).id
            fields = {"Title": title, "Length": chance.randint(1, 3), "Note": f"keel {own}"}
            row = self.make.row(site_list, fields, content_type=kind)
            resource_id = f"{list_id}:item:{row.number}"
            self.record(resource_id, replace(place, number=str(row.number), content_type=kind), own)
            self.generated.records[resource_id] = row

    def when(self) -> str:
        return f"2026-02-{self.chance.randint(1, 28):02}T08:00:00Z"
