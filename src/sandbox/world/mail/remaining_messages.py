"""The rest of a mailbox: odd mails, mails of one second, self-sent ones, drafts, trash and spam."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.mail.correspondence import Writing, message_id, written
from sandbox.world.mail.deliveries import Desk, chance, filed, stranger
from sandbox.world.mail.edge_case_bodies import ODD_BODIES
from sandbox.world.mail.edge_case_charsets import ODD_CHARSETS
from sandbox.world.mail.edge_case_headers import ODD_HEADERS, Oddity
from sandbox.world.mail.screenplays import Story
from sandbox.world.mail.texts import conversations, phrases
from sandbox.world.people import CAST, STUDIO_ACCOUNT, YARD_ACCOUNT, Person


def everything(desk: Desk) -> Iterator[NewMail]:
    """Yield what belongs to no conversation and no series, in no order."""
    yield from _oddities(desk)
    yield from _same_second(desk)
    yield from _to_herself(desk)
    yield _to_both(desk)
    yield from _off_topic(desk)
    yield from _drafts(desk)
    yield from _trash(desk)
    yield from _spam(desk)


def _oddities(desk: Desk) -> Iterator[NewMail]:
    for number, make in enumerate((*ODD_HEADERS, *ODD_BODIES, *ODD_CHARSETS)):
        at = desk.moment(4 + number * 5, hour=11, seed=make.__name__, zone="UTC")
        raw = make(Oddity(account=desk.account, at=at, seed=make.__name__))
        labels = ("Odd & Ends/Old Programs",) if number % 9 == 4 else ()
        yield filed(raw, at, labels=labels, read=number % 11 != 3)


def _same_second(desk: Desk) -> Iterator[NewMail]:
    """Five mails received within one second, three of them within one millisecond."""
    at = desk.moment(8, hour=15, seed="burst", zone="UTC").replace(microsecond=0)
    sender = Person(key="cam", name="Quay Camera", email="camera@shed-watch.example")
    for number, milliseconds in enumerate((0, 0, 0, 400, 999)):
        writing = _plain(
            desk, sender, f"Movement on quay, picture {number + 1} of 5", at, "Motion."
        )
        yield filed(written(writing), at + timedelta(milliseconds=milliseconds))


def _to_herself(desk: Desk) -> Iterator[NewMail]:
    at = desk.moment(35, hour=20, seed="note", zone=desk.me.zone)
    text = "Ask Jonas about the rope. Ask Henrik about the rope. Buy rope."
    raw = written(_plain(desk, desk.me, "Note to self", at, text))
    if desk.mailbox == PROVIDER_A:
        yield filed(raw, at, labels=("SENT",), read=False, starred=True)
        return
    yield filed(raw, at, folder="sent")
    yield filed(raw, at + timedelta(seconds=1), read=False, starred=True)


def _to_both(desk: Desk) -> NewMail:
    """One mail with one Message-ID that lies in both accounts."""
    at = desk.moment(14, hour=13, seed="both", zone="UTC")
    writing = Writing(
        sender=CAST["helena"],
        to=[("Nora Lindqvist", YARD_ACCOUNT), ("", STUDIO_ACCOUNT)],
        subject="Your portrait for the book",
        text="Dear Nora, I never know which address you read, so I write to both. May we meet?",
        at=at,
        account=desk.account,
        message_id=message_id("portrait", domain="helena-novak.example"),
    )
    return filed(written(writing), at)


def _off_topic(desk: Desk) -> Iterator[NewMail]:
    """An answer under a new subject: it has References, but no ``Re:``."""
    story = _known(desk)
    opened = _ids(desk, story)
    at = desk.moment(21, hour=9, seed="off-topic", zone="UTC")
    writing = Writing(
        sender=desk.person(story.turns[0].sender),
        to=[(desk.me.name, desk.account)],
        cc=[desk.receiver("priya")],
        subject="Something quite different: mushrooms",
        text="While I have your address before me: the chanterelles are out behind the crane.",
        at=at,
        account=desk.account,
        message_id=message_id(desk.mailbox, "mushrooms", domain="nystrom-fastigheter.example"),
        references=opened[-3:],
    )
    yield filed(written(writing), at, read=False)


def _drafts(desk: Desk) -> Iterator[NewMail]:
    story = _known(desk)
    opened = _ids(desk, story)
    drafts: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
        ("", (), "", ()),
        ("Speech, second attempt", (), "Dear friends of wood,\n\n(something about wood)", ()),
        (f"Re: {story.subject}", (story.turns[0].sender,), "One more thing, before", tuple(opened)),
        ("Salaries 2027", ("linnea",), "Please treat as confidential. My proposal:", ()),
        ("", ("james",), "Dear James,", ()),
        ("Böcker att köpa 📚", ("elin",), "Den om knutar, den om moln", ()),
    )
    for number, (subject, to, text, references) in enumerate(drafts):
        at = desk.moment(1 + number * 9, hour=18, seed=f"draft/{number}", zone=desk.me.zone)
        writing = Writing(
            sender=desk.me,
            to=[desk.receiver(key) for key in to],
            bcc=[desk.receiver("peter")] if subject.startswith("Salaries") else (),
            subject=subject,
            text=text,
            at=at,
            account=desk.account,
            message_id=message_id(desk.mailbox, "draft", number, domain="harbourlight.example"),
            references=references,
        )
        yield filed(written(writing), at, folder="drafts")


def _trash(desk: Desk) -> Iterator[NewMail]:
    for number, heading in enumerate(phrases()["wooden boat letter"][:9]):
        at = desk.moment(3 + number * 8, hour=7, seed=f"trash/{number}", zone="UTC")
        sender = stranger(f"Marina Offers <offers{number}@marina-deals.example>")
        text = f"{heading}, and forty more offers that end tonight."
        writing = _plain(desk, sender, f"Offer: {heading}", at, text)
        yield filed(written(writing), at, folder="trash", read=number % 2 == 0)
    story = _known(desk)
    at = desk.moment(40, hour=16, seed="trashed answer", zone=desk.me.zone)
    writing = Writing(
        sender=desk.me,
        to=[desk.receiver(story.turns[0].sender)],
        subject=f"Re: {story.subject}",
        text="No! (This one was written before coffee and is better forgotten.)",
        at=at,
        account=desk.account,
        message_id=message_id(desk.mailbox, "before coffee", domain="harbourlight.example"),
        references=_ids(desk, story),
    )
    labels = ("SENT",) if desk.mailbox == PROVIDER_A else ()
    yield filed(written(writing), at, folder="trash", labels=labels)


def _spam(desk: Desk) -> Iterator[NewMail]:
    for number, subject in enumerate(phrases()["spam"]):
        at = desk.moment(1 + number * 2, hour=2, seed=f"spam/{number}", zone="UTC")
        sender = stranger(f"Customer Care <care{number}@sunken-treasure{number % 4}.example>")
        text = (
            f"{subject}\n\nAct within {int(chance(subject) * 40) + 2} minutes. No anchors refunded."
        )
        yield filed(written(_plain(desk, sender, subject, at, text)), at, folder="spam", read=False)


def _plain(desk: Desk, sender: Person, subject: str, at: datetime, text: str) -> Writing:
    domain = sender.email.rpartition("@")[2]
    return Writing(
        sender=sender,
        to=[(desk.me.name, desk.account)],
        subject=subject,
        text=text,
        at=at,
        account=desk.account,
        message_id=message_id(desk.mailbox, subject, at, domain=domain),
    )


def _known(desk: Desk) -> Story:
    """Return the second longest conversation of the desk."""
    told = conversations("yard" if desk.mailbox == PROVIDER_A else "studio")
    return sorted(told, key=lambda story: len(story.turns))[-2]


def _ids(desk: Desk, story: Story) -> list[str]:
    return [
        message_id(
            desk.mailbox,
            story.subject,
            place,
            domain=desk.person(turn.sender).email.rpartition("@")[2],
        )
        for place, turn in enumerate(story.turns)
    ]
