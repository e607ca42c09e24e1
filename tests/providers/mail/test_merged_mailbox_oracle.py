"""Searches of both providers against a reading of the decisions in a few lines per filter."""

import random
import re
from dataclasses import dataclass
from datetime import timedelta

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from mail_upstreams import NOON, TEXT, opened

from providers.ports.mail import MailQuery


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
    "JOANNA n",
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
    "subject": ["LEASE", "of the h", "ÜBER", "Überblick", "lan", "50%", "(final", "-back", "%"],
    "label": ["client work", "CLIENT", "work", "nothing"],
    "unread": [True, False],
    "has_attachment": [True, False],
    "after": [NOON + timedelta(seconds=at) for at in range(6)],
    "before": [NOON + timedelta(seconds=at) for at in range(6, 13)],
    "text": ["house", "MARMALADE toast", '"the house"', "überblick", "house ann", "plan desk"],
}


def meant(mail, query, *, whole):
    """Whether the decisions say that *mail* is found; *whole*: the provider knows whole words."""
    moment = NOON + timedelta(seconds=mail.at)
    people = [mail.to, *([mail.cc] if mail.cc else [])]
    return all(
        (
            "sender" not in query or addressed([mail.author], query["sender"], whole=whole),
            "recipient" not in query or addressed(people, query["recipient"], whole=whole),
            "subject" not in query or spelt_in(query["subject"], mail.subject, whole=whole),
            "label" not in query or query["label"].lower() in map(str.lower, mail.labels),
            not (query.get("unread") and mail.read),
            query.get("has_attachment") in (None, mail.attached),
            "after" not in query or moment > query["after"],
            "before" not in query or moment < query["before"],
            text_matches(mail, query.get("text", ""), TEXT, whole=False),
        )
    )


def spelt_in(term, text, *, whole):
    """Whether the words of *term* follow each other in *text*, the last one perhaps cut off."""
    spelt = r"[^\w|]+".join(re.findall(r"\w+", term.lower()))
    return bool(spelt and re.search(rf"\b{spelt}" + whole * r"\b", text.lower()))


def addressed(people, value, *, whole):
    value = value.lower()
    if value.startswith("@"):
        return any(address.endswith(value) for _, address in people)
    if "@" in value:
        return any(address == value for _, address in people)
    return any(
        spelt_in(value, name, whole=whole)
        or (address.startswith(value) and spelt_in(value, address, whole=whole))
        for name, address in people
    )


def text_matches(mail, text, fields, *, whole):
    """Whether each word or phrase of *text* begins a word in one of the visible texts."""
    people = {"from_": mail.author, "to": mail.to, "cc": mail.cc or ()}
    texts = {"subject": mail.subject, "body": mail.body, "body_preview": mail.body}
    texts |= {field: " ".join(addresses) for field, addresses in people.items()}
    seen = "|".join(texts[field] for field in fields).lower()
    terms = [text.strip('"')] if text.startswith('"') else text.split()
    return all(spelt_in(term, seen, whole=whole) for term in terms)


def person(pair):
    name, address = pair
    return f"{name} <{address}>" if name else address


def queries(count):
    """Draw queries, the same in every run."""
    draw = random.Random(20261120)
    for _ in range(count):
        chosen = [name for name in VALUES if draw.random() < 0.28]
        yield {name: draw.choice(VALUES[name]) for name in chosen}, draw.choice([2, 20])


def filled(account):
    """Put every mail into a mailbox; return them by id."""
    return {
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


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
async def test_a_search_matches_the_oracle(provider):
    async with opened(provider) as account:
        names = filled(account)
        hits = 0
        for query, limit in queries(150):
            fields = TEXT if "text" in query else frozenset()
            mail_query = MailQuery(limit=limit, text_fields=fields, **query)
            emails = await account.every(mail_query, projection={"subject"})
            expected = sorted(
                name
                for name, mail in names.items()
                if meant(mail, query, whole=provider == "PROVIDER_A")
            )
            assert sorted(email.id for email in emails) == expected, query
            hits += bool(expected)
        assert hits > 50


# -- words where some fields are hidden

SAID = sorted(
    {
        word
        for text in (*SUBJECTS, *BODIES, *(part for pair in PEOPLE for part in pair))
        for word in re.findall(r"[\w@.]*\w", text.lower())
    }
)
BEGINNINGS = st.builds(
    lambda word, most: word[:most].rstrip("@."), st.sampled_from(SAID), st.integers(1, 30)
)
PHRASES = st.sampled_from(["the hou", "joanna n", "of the", "ng joanna", "author ann@n"])
MASKS = st.sets(st.sampled_from(sorted(TEXT)), min_size=1)


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["PROVIDER_A", "PROVIDER_B"])
async def mailbox(request):
    async with opened(request.param) as account:
        yield account, filled(account)


@pytest.mark.asyncio(loop_scope="module")
@given(
    text=st.lists(BEGINNINGS, min_size=1, max_size=2).map(" ".join) | PHRASES.map('"{}"'.format),
    fields=MASKS,
    beyond=st.booleans(),
    limit=st.sampled_from([2, 50]),
)
async def test_word_prefixes_match_in_visible_fields(mailbox, text, fields, beyond, limit):
    account, mails = mailbox
    query = MailQuery(text=text, text_fields=frozenset(fields), text_beyond=beyond, limit=limit)

    emails = await account.every(query, projection={"subject"})

    # Operators of provider A, which look into single fields, find whole words.
    whole = account.provider == "PROVIDER_A" and not fields & {"body", "body_preview"}
    expected = sorted(
        name for name, mail in mails.items() if text_matches(mail, text, fields, whole=whole)
    )
    assert sorted(email.id for email in emails) == expected
