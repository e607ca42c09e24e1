"""The rest of a mailbox: odd mails, mails of one second, self-sent ones, drafts, trash and spam."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.mail.correspondence import ComposedMail, message_id, render
from sandbox.world.mail.deliveries import DemoAccount, chance, new_mail, stranger
from sandbox.world.mail.edge_case_bodies import BODY_CASES
from sandbox.world.mail.edge_case_charsets import CHARSET_CASES
from sandbox.world.mail.edge_case_headers import HEADER_CASES, EdgeCase
from sandbox.world.mail.screenplays import ConversationScript
from sandbox.world.mail.texts import conversation_scripts, phrases
from sandbox.world.people import PEOPLE, STUDIO_ACCOUNT, YARD_ACCOUNT, Person


def everything(desk: DemoAccount) -> Iterator[NewMail]:
    """Yield what belongs to no conversation and no series, in no order."""
    yield from _oddities(desk)
    yield from _same_second(desk)
    yield from _to_herself(desk)
    yield _to_both(desk)
    yield from _off_topic(desk)
    yield from _drafts(desk)
    yield from _trash(desk)
    yield from _spam(desk)


def _oddities(desk: DemoAccount) -> Iterator[NewMail]:
    for number, make in enumerate((*HEADER_CASES, *BODY_CASES, *CHARSET_CASES)):
        at = desk.moment(4 + number * 5, hour=11, seed=make.__name__, zone="UTC")
        raw = make(EdgeCase(account=desk.account, at=at, seed=make.__name__))
        labels = ("Odd & Ends/Old Programs",) if number % 9 == 4 else ()
        yield new_mail(raw, at, labels=labels, read=number % 11 != 3)


def _same_second(desk: DemoAccount) -> Iterator[NewMail]:
    """Five mails received within one second, three of them within one millisecond."""
    at = desk.moment(8, hour=15, seed="burst", zone="UTC").replace(microsecond=0)
    sender = Person(key="cam", name="Quay Camera", email="camera@shed-watch.example")
    for number, milliseconds in enumerate((0, 0, 0, 400, 999)):
        writing = _plain(
            desk, sender, f"Movement on quay, picture {number + 1} of 5", at, "Motion."
        )
        yield new_mail(render(writing), at + timedelta(milliseconds=milliseconds))


def _to_herself(desk: DemoAccount) -> Iterator[NewMail]:
    at = desk.moment(35, hour=20, seed="note", zone=desk.me.zone)
    text = "Ask Jonas about the rope. Ask Henrik about the rope. Buy rope."
    raw = render(_plain(desk, desk.me, "Note to self", at, text))
    if desk.mailbox == PROVIDER_A:
        yield new_mail(raw, at, labels=("SENT",), read=False, starred=True)
        return
    yield new_mail(raw, at, folder="sent")
    yield new_mail(raw, at + timedelta(seconds=1), read=False, starred=True)


def _to_both(desk: DemoAccount) -> NewMail:
    """One mail with one Message-ID that lies in both accounts."""
    at = desk.moment(14, hour=13, seed="both", zone="UTC")
    writing = ComposedMail(
        sender=PEOPLE["helena"],
        to=[("Nora Lindqvist", YARD_ACCOUNT), ("", STUDIO_ACCOUNT)],
        subject="Your portrait for the book",
        text="Dear Nora, I never know which address you read, so I write to both. May we meet?",
        at=at,
        account=desk.account,
        message_id=message_id("portrait", domain="helena-novak.example"),
    )
    return new_mail(render(writing), at)


def _off_topic(desk: DemoAccount) -> Iterator[NewMail]:
    """An answer under a new subject: it has References, but no ``Re:``."""
    story = _known(desk)
    opened = _ids(desk, story)
    at = desk.moment(21, hour=9, seed="off-topic", zone="UTC")
    writing = ComposedMail(
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
    yield new_mail(render(writing), at, read=False)


def _drafts(desk: DemoAccount) -> Iterator[NewMail]:
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
        writing = ComposedMail(
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
        yield new_mail(render(writing), at, folder="drafts")


def _trash(desk: DemoAccount) -> Iterator[NewMail]:
    for number, heading in enumerate(phrases()["wooden boat letter"][:9]):
        at = desk.moment(3 + number * 8, hour=7, seed=f"trash/{number}", zone="UTC")
        sender = stranger(f"Marina Offers <offers{number}@marina-deals.example>")
        text = f"{heading}, and forty more offers that end tonight."
        writing = _plain(desk, sender, f"Offer: {heading}", at, text)
        yield new_mail(render(writing), at, folder="trash", read=number % 2 == 0)
    story = _known(desk)
    at = desk.moment(40, hour=16, seed="trashed answer", zone=desk.me.zone)
    writing = ComposedMail(
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
    yield new_mail(render(writing), at, folder="trash", labels=labels)


def _spam(desk: DemoAccount) -> Iterator[NewMail]:
    for number, subject in enumerate(phrases()["spam"]):
        at = desk.moment(1 + number * 2, hour=2, seed=f"spam/{number}", zone="UTC")
        sender = stranger(f"Customer Care <care{number}@sunken-treasure{number % 4}.example>")
        text = (
            f"{subject}\n\nAct within {int(chance(subject) * 40) + 2} minutes. No anchors refunded."
        )
        yield new_mail(
            render(_plain(desk, sender, subject, at, text)), at, folder="spam", read=False
        )


def _plain(
    desk: DemoAccount, sender: Person, subject: str, at: datetime, text: str
) -> ComposedMail:
    domain = sender.email.rpartition("@")[2]
    return ComposedMail(
        sender=sender,
        to=[(desk.me.name, desk.account)],
        subject=subject,
        text=text,
        at=at,
        account=desk.account,
        message_id=message_id(desk.mailbox, subject, at, domain=domain),
    )


def _known(desk: DemoAccount) -> ConversationScript:
    """Return the second longest conversation of the desk."""
    told = conversation_scripts("yard" if desk.mailbox == PROVIDER_A else "studio")
    return sorted(told, key=lambda story: len(story.turns))[-2]


def _ids(desk: DemoAccount, story: ConversationScript) -> list[str]:
    return [
        message_id(
            desk.mailbox,
            story.subject,
            place,
            domain=desk.person(turn.sender).email.rpartition("@")[2],
        )
        for place, turn in enumerate(story.turns)
    ]
