"""
Random small worlds of content and rules for the tests of the rule engine.

A `Thing` has the true facts, and which of them upstream does not report (`lost`). The engine gets
`facts`; the oracle (`rule_oracle`) reads the things themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import msgspec

from policy.rule_facts import UNKNOWN, Facts, Rule
from policy.vocabulary import RuleAction, RuleType

FACTS = (
    "item",
    "drive_id",
    "ancestors",
    "site_id",
    "list_id",
    "list_item_id",
    "mime_type",
    "label_ids",
    "content_type_id",
)
MIMES = ("application/pdf", "image/png", "image/svg+xml", "text/plain")
MIME_PATTERNS = (*MIMES, "image/*", "*/pdf", "application/*", "*", "*/*", "i*g*g", "text/p*n")
LABELS = ("label-1", "label-2", "label-3")
CONTENT_TYPES = ("0x0101", "0x0120", "0x01aa")
DRIVES = ("b!Drive1", "Drive2")  # of a site, whose case counts, and of a person


# Rule types whose patterns are stored in any case.
_ANY_CASE = (RuleType.FILE_ID, RuleType.FOLDER, RuleType.DRIVE_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """
    A resource with its location in the world; "" means that it has none.

    Attributes:
        parent: The item id of the folder above it, "" at the top.
        lost: Which of its facts upstream did not tell.
    """

    drive: str = ""
    item: str = ""
    parent: str = ""
    site: str = ""
    list: str = ""
    number: str = ""
    mime: str = ""
    labels: frozenset[str] = frozenset()
    content_type: str = ""
    lost: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RuleWorld:
    """Things, and lists of rules to hold against them; each with its default."""

    things: Sequence[Thing]
    policies: Sequence[tuple[bool, Sequence[Rule]]]


def world(chance: Random, *, policies: int = 6, lose: float = 0.12) -> RuleWorld:
    """Make a world; each fact is lost with the probability *lose*."""
    things = [
        replace(thing, lost=_lost(chance, lose)) for thing in (*_libraries(chance), *_lists(chance))
    ]
    return RuleWorld(
        things,
        [
            (chance.random() < 0.5, _rules(chance, things, chance.randint(0, 7)))
            for _ in range(policies)
        ],
    )


def facts(thing: Thing, parents: Mapping[tuple[str, str], str]) -> Facts:
    """Return the facts of *thing*; *parents* maps each item to its folder."""
    known = Facts(
        item=(thing.drive, thing.item) if thing.item else None,
        drive_id=thing.drive or None,
        ancestors=frozenset(_above(thing, parents)),
        site_id=thing.site or None,
        list_id=thing.list or None,
        list_item_id=thing.number or None,
        mime_type=thing.mime or None,
        label_ids=thing.labels,
        content_type_id=thing.content_type or None,
    )
    return lose(known, *thing.lost)


def lose(known: Facts, *names: str) -> Facts:
    """Forget some facts."""
    changes = dict.fromkeys(names, UNKNOWN)
    return msgspec.structs.replace(known, **changes)


def parents_of(things: Sequence[Thing]) -> Mapping[tuple[str, str], str]:
    """Return what lies in what."""
    return {(thing.drive, thing.item): thing.parent for thing in things if thing.item}


def _above(thing: Thing, parents: Mapping[tuple[str, str], str]) -> list[tuple[str, str]]:
    ancestors = []
    at = thing.parent
    while at:
        ancestors.append((thing.drive, at))
        at = parents[thing.drive, at]
    return ancestors


def _libraries(chance: Random) -> list[Thing]:
    """Make libraries with folders in folders; every library is a list of its site too."""
    things = []
    for number in range(1, 3):
        drive, site, of = DRIVES[number - 1], f"site{chance.randint(1, 2)}", f"library{number}"
        place = Thing(drive=drive, site=site, list=of)
        things.append(place)
        folders = [f"i{chance.randint(1, 99)}"]  # ids are unique within a drive alone
        things.append(replace(place, item=folders[0]))
        for index in range(chance.randint(2, 7)):
            item = f"i{100 * (index + 1) + chance.randint(0, 1)}"
            is_folder = chance.random() < 0.45
            labels = [label for label in LABELS if not is_folder and chance.random() < 0.3]
            things.append(
                replace(
                    place,
                    item=item,
                    parent=chance.choice(folders),
                    number=str(index + 1),
                    mime="" if is_folder else chance.choice(MIMES),
                    labels=frozenset(labels),
                    content_type=CONTENT_TYPES[is_folder],
                )
            )
            if is_folder:
                folders.append(item)
    return things


def _lists(chance: Random) -> list[Thing]:
    things = [Thing(site=f"site{number}") for number in (1, 2)]
    for number in range(1, 3):
        place = Thing(site=f"site{chance.randint(1, 2)}", list=f"list{number}")
        things.append(place)
        things += [
            replace(place, number=str(row), content_type=chance.choice(CONTENT_TYPES))
            for row in range(1, chance.randint(2, 4))
        ]
    return things


def _lost(chance: Random, share: float) -> frozenset[str]:
    return frozenset(name for name in FACTS if chance.random() < share)


def _rules(chance: Random, things: Sequence[Thing], count: int) -> list[Rule]:
    return [
        rule(chance, things, number, chance.choice(list(RuleAction)))
        for number in range(1, count + 1)
    ]


def rule(chance: Random, things: Sequence[Thing], number: int, action: RuleAction) -> Rule:
    """Make a rule that is likely to be about one of *things*."""
    rule_type, thing = chance.choice(list(RuleType)), chance.choice(things)
    drive = thing.drive if chance.random() < 0.8 else DRIVES[1]
    pair = chance.random() < 0.5
    patterns = {
        RuleType.FILE_ID: f"{drive}:{thing.item}" if pair and drive else thing.item,
        RuleType.FOLDER: f"{drive}:{thing.parent}" if pair and drive else thing.parent,
        RuleType.DRIVE_ID: thing.drive,
        RuleType.SITE_ID: thing.site,
        RuleType.LIST_ID: thing.list,
        RuleType.LIST_ITEM_ID: f"{thing.list or 'list1'}:{thing.number}" if pair else thing.number,
        RuleType.MIME_TYPE: chance.choice(MIME_PATTERNS),
        RuleType.SENSITIVITY_LABEL_ID: chance.choice(LABELS),
        RuleType.CONTENT_TYPE_ID: chance.choice(CONTENT_TYPES).upper(),
    }
    pattern = patterns[rule_type]
    if not pattern or pattern.endswith(":"):
        return rule(chance, things, number, action)
    if rule_type in _ANY_CASE and chance.random() < 0.3:
        pattern = pattern.swapcase()
    return Rule(id=number, rule_type=rule_type, pattern=pattern, action=action)
