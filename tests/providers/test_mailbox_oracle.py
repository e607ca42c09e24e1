"""Searches of both providers against a reading of the decisions in five lines per filter."""

import random
import re
from dataclasses import dataclass
from datetime import timedelta

import pytest
from mailworld import NOON, TEXT, opened

from providers.ports import MailQuery


@dataclass(frozen=True)
class Written:
    subject: str
    at: int
    author: tuple[str, str]
    to: tuple[str, str]
    cc: tuple[str, str] | None
    body: str
    labels: tuple[str, ...]
    read: bool
    attached: bool


PEOPLE = [
    ("Ann Author", "ann@north.example"),
    ("Joanna Ng", "joanna@north.example"),
    ("Zoë", "zoe@mail.north.example"),
    ("", "desk@south.example"),
]
SUBJECTS = [
    "Lease of the house",
    "RE: lease-back",
    "Überblick",
    "The plan",
    "plan B (final)",
    "50% off",
]
BODIES = ["Toast with marmalade.", "The house is let.", "Nothing.", "Überblick folgt."]
MAILS = [
    Written(
        subject=SUBJECTS[number % 6],
        at=number // 2,
        author=PEOPLE[number % 4],
        to=PEOPLE[(number // 2) % 4],
        cc=PEOPLE[(number // 3) % 4] if number % 3 else None,
        body=BODIES[(number // 2) % 4],
        labels=(("Client Work",), ("client", "Work"), ())[number % 3],
        read=number % 2 == 0,
        attached=number % 5 == 0,
    )
    for number in range(24)
]

ADDRESSED = [
    "ann@north.example",
    "ANNA",
    "ann",
    "@north.example",
    "@orth.example",
    "zoë",
    "south",
    "ng",
]
VALUES = {
    "sender": ADDRESSED,
    "recipient": ADDRESSED,
    "subject": ["LEASE", "e of the h", "ÜBER", "lan", "50%", "(final", "-back"],
    "label": ["client work", "CLIENT", "work", "nothing"],
    "unread": [True, False],
    "has_attachment": [True, False],
    "after": [NOON + timedelta(seconds=at) for at in range(6)],
    "before": [NOON + timedelta(seconds=at) for at in range(6, 13)],
    "text": ["house", "MARMALADE toast", '"the house"', "überblick", "house ann", "plan desk"],
}


def meant(mail, query):
    """Whether the decisions say that *mail* is found."""
    moment = NOON + timedelta(seconds=mail.at)
    people = [mail.to, *([mail.cc] if mail.cc else [])]
    words = f"{mail.subject} | {mail.body} | " + " | ".join(map(" ".join, [mail.author, *people]))
    return all(
        (
            "sender" not in query or addressed([mail.author], query["sender"]),
            "recipient" not in query or addressed(people, query["recipient"]),
            query.get("subject", "").lower() in mail.subject.lower(),
            "label" not in query or query["label"].lower() in map(str.lower, mail.labels),
            not (query.get("unread") and mail.read),
            query.get("has_attachment") in (None, mail.attached),
            "after" not in query or moment > query["after"],
            "before" not in query or moment < query["before"],
            *(re.search(rf"\b{term}", words.lower()) for term in spoken(query.get("text", ""))),
        )
    )


def addressed(people, value):
    value = value.lower()
    if value.startswith("@"):
        return any(address.endswith(value) for _, address in people)
    if "@" in value:
        return any(address == value for _, address in people)
    return any(value in name.lower() or value in address for name, address in people)


def spoken(text):
    return [text.strip('"')] if text.startswith('"') else text.lower().split()


def person(one):
    name, address = one
    return f"{name} <{address}>" if name else address


def queries(count):
    """Draw queries, the same in every run."""
    draw = random.Random(20261120)
    for _ in range(count):
        chosen = [name for name in VALUES if draw.random() < 0.28]
        yield {name: draw.choice(VALUES[name]) for name in chosen}, draw.choice([2, 20])


@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_a_search_finds_what_is_meant(provider):
    async with opened(provider) as account:
        names = {
            account.add(
                mail.subject,
                at=mail.at,
                author=person(mail.author),
                to=person(mail.to),
                cc=person(mail.cc) if mail.cc else None,
                body=mail.body,
                labels=mail.labels,
                read=mail.read,
                files=[("a.pdf", "application/pdf", b"x")] if mail.attached else (),
            ): mail
            for mail in MAILS
        }
        hits = 0
        for query, limit in queries(150):
            fields = TEXT if "text" in query else frozenset()
            asked = MailQuery(limit=limit, text_fields=fields, **query)
            found = await account.every(asked, wanted={"subject"})
            expected = sorted(name for name, mail in names.items() if meant(mail, query))
            assert sorted(one.id for one in found) == expected, query
            hits += bool(expected)
        assert hits > 50
