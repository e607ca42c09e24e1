"""The rest of a mailbox: edge cases, equal times, self-sent mail, drafts, trash and spam."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount, stranger
from sandbox.world.chance import chance
from sandbox.world.mail.composer import ComposedMail, message_id, render
from sandbox.world.mail.conversation_scripts import ConversationScript
from sandbox.world.mail.conversations import message_ids
from sandbox.world.mail.deliveries import new_mail
from sandbox.world.mail.edge_case_bodies import BODY_CASES
from sandbox.world.mail.edge_case_charsets import CHARSET_CASES
from sandbox.world.mail.edge_case_headers import HEADER_CASES, EdgeCase
from sandbox.world.mail.texts import load_scripts, odd_mails, phrases
from sandbox.world.people import PEOPLE, STUDIO_ACCOUNT, YARD_ACCOUNT, Person

_ODD_DAYS = 180  # the newest odd mail is so old, so that first pages show ordinary mail
_ODD_RECIPIENT = b"me@odd.example"
_ODD_DOMAIN = b"@odd.example>"


def remaining_mails(account: DemoAccount) -> Iterator[NewMail]:
    """Yield the mail of no conversation and no series, in no order."""
    yield from _edge_cases(account)
    yield from _odd_mails(account)
    yield from _same_second(account)
    yield from _self_sent(account)
    yield _sent_to_both(account)
    yield from _off_topic(account)
    yield from _drafts(account)
    yield from _trash(account)
    yield from _spam(account)


def _edge_cases(account: DemoAccount) -> Iterator[NewMail]:
    # The functions' names seed ids and times: renaming one changes the world.
    for number, make in enumerate((*HEADER_CASES, *BODY_CASES, *CHARSET_CASES)):
        at = account.moment(4 + number * 5, hour=11, seed=make.__name__, zone="UTC")
        raw = make(EdgeCase(address=account.address, at=at, seed=make.__name__))
        labels = ("Odd & Ends/Old Programs",) if number % 9 == 4 else ()
        yield new_mail(raw, at, labels=labels, read=number % 11 != 3)


def _odd_mails(account: DemoAccount) -> Iterator[NewMail]:
    for number, (name, raw) in enumerate(odd_mails().items()):
        at = account.moment(_ODD_DAYS + number * 4, hour=5, seed=name, zone="UTC")
        raw_to_account = raw.replace(_ODD_RECIPIENT, account.address.encode())
        own_ids = raw_to_account.replace(_ODD_DOMAIN, f"@{account.mailbox}.example>".encode())
        yield new_mail(own_ids, at)


def _same_second(account: DemoAccount) -> Iterator[NewMail]:
    """Yield five mails received in one second, three of them in one millisecond."""
    at = account.moment(8, hour=15, seed="burst", zone="UTC").replace(microsecond=0)
    sender = Person(key="cam", name="Quay Camera", email="camera@shed-watch.example")
    for number, milliseconds in enumerate((0, 0, 0, 400, 999)):
        mail = _plain(
            account, sender, f"Movement on quay, picture {number + 1} of 5", at, "Motion."
        )
        yield new_mail(render(mail), at + timedelta(milliseconds=milliseconds))


def _self_sent(account: DemoAccount) -> Iterator[NewMail]:
    at = account.moment(35, hour=20, seed="note", zone=account.owner.zone)
    text = "Ask Jonas about the rope. Ask Henrik about the rope. Buy rope."
    raw = render(_plain(account, account.owner, "Note to self", at, text))
    if account.mailbox == PROVIDER_A:
        yield new_mail(raw, at, labels=("SENT",), read=False, starred=True)
        return
    yield new_mail(raw, at, folder="sent")
    yield new_mail(raw, at + timedelta(seconds=1), read=False, starred=True)


def _sent_to_both(account: DemoAccount) -> NewMail:
    """Return a mail that both accounts get, with one Message-ID."""
    at = account.moment(14, hour=13, seed="both", zone="UTC")
    mail = ComposedMail(
        sender=PEOPLE["helena"],
        to=[("Nora Lindqvist", YARD_ACCOUNT), ("", STUDIO_ACCOUNT)],
        subject="Your portrait for the book",
        text="Dear Nora, I never know which address you read, so I write to both. May we meet?",
        sent_at=at,
        mailbox_address=account.address,
        message_id=message_id("portrait", domain="helena-novak.example"),
    )
    return new_mail(render(mail), at)


def _off_topic(account: DemoAccount) -> Iterator[NewMail]:
    """Yield a reply with a new subject: it has References but no ``Re:``."""
    script = _longest_but_one(account)
    thread_ids = message_ids(account, script)
    at = account.moment(21, hour=9, seed="off-topic", zone="UTC")
    mail = ComposedMail(
        sender=account.person(script.mails[0].sender),
        to=[(account.owner.name, account.address)],
        cc=[account.recipient("priya")],
        subject="Something quite different: mushrooms",
        text="While I have your address before me: the chanterelles are out behind the crane.",
        sent_at=at,
        mailbox_address=account.address,
        message_id=message_id(account.mailbox, "mushrooms", domain="nystrom-fastigheter.example"),
        references=thread_ids[-3:],
    )
    yield new_mail(render(mail), at, read=False)


def _drafts(account: DemoAccount) -> Iterator[NewMail]:
    script = _longest_but_one(account)
    thread_ids = message_ids(account, script)
    drafts: tuple[tuple[str, tuple[str, ...], str, tuple[str, ...]], ...] = (
        ("", (), "", ()),
        ("Speech, second attempt", (), "Dear friends of wood,\n\n(something about wood)", ()),
        (
            f"Re: {script.subject}",
            (script.mails[0].sender,),
            "One more thing, before",
            tuple(thread_ids),
        ),
        ("Salaries 2027", ("linnea",), "Please treat as confidential. My proposal:", ()),
        ("", ("james",), "Dear James,", ()),
        ("Böcker att köpa 📚", ("elin",), "Den om knutar, den om moln", ()),
    )
    for number, (subject, to, text, references) in enumerate(drafts):
        at = account.moment(
            1 + number * 9, hour=18, seed=f"draft/{number}", zone=account.owner.zone
        )
        mail = ComposedMail(
            sender=account.owner,
            to=[account.recipient(key) for key in to],
            bcc=[account.recipient("peter")] if subject.startswith("Salaries") else (),
            subject=subject,
            text=text,
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, "draft", number, domain="harbourlight.example"),
            references=references,
        )
        yield new_mail(render(mail), at, folder="drafts")


def _trash(account: DemoAccount) -> Iterator[NewMail]:
    for number, heading in enumerate(phrases()["wooden boat letter"][:9]):
        at = account.moment(3 + number * 8, hour=7, seed=f"trash/{number}", zone="UTC")
        sender = stranger(f"Marina Offers <offers{number}@marina-deals.example>")
        text = f"{heading}, and forty more offers that end tonight."
        mail = _plain(account, sender, f"Offer: {heading}", at, text)
        yield new_mail(render(mail), at, folder="trash", read=number % 2 == 0)
    script = _longest_but_one(account)
    at = account.moment(40, hour=16, seed="trashed answer", zone=account.owner.zone)
    mail = ComposedMail(
        sender=account.owner,
        to=[account.recipient(script.mails[0].sender)],
        subject=f"Re: {script.subject}",
        text="No! (This one was written before coffee and is better forgotten.)",
        sent_at=at,
        mailbox_address=account.address,
        message_id=message_id(account.mailbox, "before coffee", domain="harbourlight.example"),
        references=message_ids(account, script),
    )
    labels = ("SENT",) if account.mailbox == PROVIDER_A else ()
    yield new_mail(render(mail), at, folder="trash", labels=labels)


def _spam(account: DemoAccount) -> Iterator[NewMail]:
    for number, subject in enumerate(phrases()["spam"]):
        at = account.moment(1 + number * 2, hour=2, seed=f"spam/{number}", zone="UTC")
        sender = stranger(f"Customer Care <care{number}@sunken-treasure{number % 4}.example>")
        text = (
            f"{subject}\n\nAct within {int(chance(subject) * 40) + 2} minutes. No anchors refunded."
        )
        yield new_mail(
            render(_plain(account, sender, subject, at, text)), at, folder="spam", read=False
        )


def _plain(
    account: DemoAccount, sender: Person, subject: str, at: datetime, text: str
) -> ComposedMail:
    domain = sender.email.rpartition("@")[2]
    return ComposedMail(
        sender=sender,
        to=[(account.owner.name, account.address)],
        subject=subject,
        text=text,
        sent_at=at,
        mailbox_address=account.address,
        message_id=message_id(account.mailbox, subject, at, domain=domain),
    )


def _longest_but_one(account: DemoAccount) -> ConversationScript:
    scripts = load_scripts("yard" if account.mailbox == PROVIDER_A else "studio")
    return sorted(scripts, key=lambda script: len(script.mails))[-2]
