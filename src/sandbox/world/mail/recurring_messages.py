"""What comes again and again: plans, newsletters, invoices, statements, warnings, meetings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount, stranger
from sandbox.world.chance import chance, pick
from sandbox.world.mail import attachment_files, mime_writer
from sandbox.world.mail.composer import ComposedMail, message_id
from sandbox.world.mail.conversation_scripts import ConversationScript, ScriptedMail
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.deliveries import deliver
from sandbox.world.mail.texts import phrases
from sandbox.world.people import PEOPLE, Person

YEAR = 364  # days

_UPDATES = "CATEGORY_UPDATES"
_PROMOTIONS = "CATEGORY_PROMOTIONS"


def everything(account: DemoAccount) -> Iterator[NewMail]:
    """Yield a year of recurring mail for *account*, in no order."""
    for weeks in range(1, 48):
        yield from conversation_mails(account, _week(account, weeks))
    for paper in PAPERS[account.mailbox]:
        yield from _issues(account, paper)
    for supplier in SUPPLIERS[account.mailbox]:
        yield from _invoices(account, supplier)
    yield from _statements(account)
    if account.mailbox == PROVIDER_A:
        yield from _warnings(account)
    yield from _nights(account)
    yield from _invitations(account)


# Week plans


def _week(account: DemoAccount, weeks: int) -> ConversationScript:
    yard = account.mailbox == PROVIDER_A
    place, author = ("yard", "jonas") if yard else ("studio", "fatou")
    monday = account.today - timedelta(days=account.today.weekday() + 7 * (weeks - 1))
    number = monday.isocalendar().week
    title = f"Week {number} in the yard" if yard else f"Monday round, week {number}"
    work = [_said(f"{place} work", weeks * 3 + turn) for turn in range(3)]
    weather = _said(f"{place} weather", weeks)
    greeting = pick(("Morning all,", "Hello everybody,", "Good morning,", "Hi all,"), title)
    plan = "\n\n".join((greeting, "\n".join(f"- {line}" for line in work), weather))
    mails = [ScriptedMail(author, (account.team_list,), ("me",), 0, plan)]
    for turn in range(int(chance(title, "answers") * 2.4)):
        who, _, text = _said(f"{place} answers", weeks * 2 + turn).partition(": ")
        mails.append(ScriptedMail(who, (author,), (account.team_list,), 1 + turn * 3, text))
    days = (account.today - monday).days
    return ConversationScript(f"{title}, {monday:%Y}", days, (), starred=False, mails=tuple(mails))


def _said(kind: str, turn: int) -> str:
    """Return the next phrase of *kind*; one comes again only when all have been said."""
    said = phrases()[kind]
    text = said[(turn * 7) % len(said)]
    number = 3 + turn * 5 % 17
    return text.format(number=number, more=number + 2, hour=f"{number % 12 + 7}:20")


# Newsletters


@dataclass(frozen=True, slots=True)
class Paper:
    """A newsletter: who sends it, every how many days, under which heading of the phrases."""

    sender: Person
    every: int
    heading: str
    intro: str
    closing: str


PAPERS = {
    "provider-a": (
        Paper(
            Person(
                key="letter",
                name="The Wooden Boat Letter",
                email="letter@woodenboatletter.example",
                style="html",
                zone="Europe/London",
            ),
            14,
            "wooden boat letter",
            "Good morning. In this letter:",
            "You receive this letter because you once asked for it. A short answer ends it.",
        ),
        Paper(
            Person(
                key="holz",
                name="Holz & Hafen",
                email="redaktion@holz-und-hafen.example",
                style="html-only",
                charset="iso-8859-1",
                zone="Europe/Berlin",
            ),
            30,
            "holz und hafen",
            "Liebe Leserinnen und Leser, in dieser Ausgabe:",
            "Sie möchten keine Post mehr? Eine kurze Antwort genügt. Schöne Grüße vom Kai!",
        ),
    ),
    "provider-b": (
        Paper(
            Person(
                key="ritningen",
                name="Ritningen – nyhetsbrev för arkitekter",
                email="nyhetsbrev@ritningen.example",
                style="html",
                charset="utf-8",
                transfer="base64",
            ),
            14,
            "ritningen",
            "Hej! Veckans ämnen:",
            "Vill du inte ha brevet längre? Svara NEJ, så slutar vi genast.",
        ),
        Paper(
            Person(
                key="quai",
                name="Le Quai",
                email="lettre@le-quai.example",
                style="html-only",
                charset="iso-8859-15",
                zone="Europe/Paris",
            ),
            30,
            "le quai",
            "Chère lectrice, cher lecteur, au sommaire de ce numéro :",
            "Pour ne plus recevoir cette lettre, répondez simplement « non merci ».",
        ),
    ),
}


def _issues(account: DemoAccount, paper: Paper) -> Iterator[NewMail]:
    topics = phrases()[paper.heading]
    domain = paper.sender.email.rpartition("@")[2]
    for issue, days in enumerate(range(YEAR - 3, 2, -paper.every)):
        shown = [topics[(issue + more) % len(topics)] for more in (0, 7, 11)]
        mail = ComposedMail(
            sender=paper.sender,
            to=[(account.owner.name, account.address)],
            subject=f"{topics[issue % len(topics)]} ({issue + 41})",
            text="\n\n".join((paper.intro, *(f"• {topic}" for topic in shown), paper.closing)),
            sent_at=account.moment(days, hour=6, seed=f"{domain}/{issue}", zone=paper.sender.zone),
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, domain, issue, domain=domain),
            extra_headers=(
                ("List-Id", f"<letter.{domain}>"),
                ("List-Unsubscribe", f"<mailto:leave@{domain}?subject=leave-{issue}>"),
                ("Precedence", "bulk"),
            ),
        )
        yield deliver(account, mail, labels=_system(account, _PROMOTIONS))


# Invoices and statements


@dataclass(frozen=True, slots=True)
class Supplier:
    """Somebody who sends a bill every month; {month}, {number} and {amount} are filled in."""

    sender: Person
    subject: str
    text: str
    file: str
    around: int
    labels: tuple[str, ...]


SUPPLIERS = {
    "provider-a": (
        Supplier(
            Person(
                key="el",
                name="Kustkraft Elhandel",
                email="faktura@kustkraft.example",
                style="html",
                charset="iso-8859-1",
            ),
            "Din elfaktura för {month}",
            "Hej!\n\nHär kommer fakturan för {month}: {amount} kr, att betala inom 30 dagar."
            " Fakturan ligger som PDF i det här brevet.\n\nOCR-nummer: {number}",
            "Faktura {number}.pdf",
            8200,
            ("Invoices/Energy",),
        ),
        Supplier(
            PEOPLE["tim"],
            "Invoice {number} for {month}",
            "Hello Linnéa, hello Nora,\n\nplease find attached our invoice {number} over"
            " €{amount}: varnish, thinner and the brushes that Elif likes.\n\nThe tins can be"
            " returned as always.",
            "OHara-{number}.pdf",
            640,
            ("Invoices",),
        ),
    ),
    "provider-b": (
        Supplier(
            Person(
                key="druck",
                name="Plandruck Süd GmbH",
                email="rechnung@plandruck-sued.example",
                charset="iso-8859-15",
                zone="Europe/Berlin",
            ),
            "Rechnung {number} für {month}",
            "Sehr geehrte Damen und Herren,\n\nanbei erhalten Sie unsere Rechnung {number}"
            " über {amount} €, zahlbar innerhalb von 14 Tagen ohne Abzug.\n\nVielen Dank für"
            " Ihren Auftrag!",
            "Rechnung_{number}.pdf",
            310,
            ("Invoices",),
        ),
        Supplier(
            Person(
                key="line",
                name="Lineweight Software",
                email="billing@lineweight.example",
                style="html",
                transfer="base64",
                zone="Europe/London",
            ),
            "Your receipt for {month}",
            "Hi Nora,\n\nthis is the receipt {number} for nine seats of Lineweight in {month}:"
            " €{amount}. There is nothing to do.",
            "receipt-{number}.pdf",
            405,
            ("Invoices", "Software & Licences"),
        ),
    ),
}


def _invoices(account: DemoAccount, supplier: Supplier) -> Iterator[NewMail]:
    domain = supplier.sender.email.rpartition("@")[2]
    for month, days in enumerate(range(YEAR - 11, 2, -30)):
        at = account.moment(days, hour=8, seed=f"{domain}/{month}", zone=supplier.sender.zone)
        number = 20117 + month * 37
        amount = f"{supplier.around * (0.8 + 0.4 * chance(domain, month)):.2f}"
        words = {"month": f"{at:%Y-%m}", "number": number, "amount": amount}
        name = supplier.file.format(**words)
        lines = (supplier.sender.name, "", name, f"Period {at:%Y-%m}", f"Total {amount}")
        mail = ComposedMail(
            sender=supplier.sender,
            to=[(account.owner.name, account.address)],
            cc=[account.recipient("linnea")] if account.mailbox == PROVIDER_A else (),
            subject=supplier.subject.format(**words),
            text=supplier.text.format(**words),
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, domain, month, domain=domain),
            parts=(mime_writer.file(name, "application/pdf", attachment_files.pdf(lines)),),
        )
        yield deliver(account, mail, labels=supplier.labels)


def _statements(account: DemoAccount) -> Iterator[NewMail]:
    bank = PEOPLE["peter"]
    for month, days in enumerate(range(YEAR - 20, 2, -30)):
        at = account.moment(days, hour=5, seed=f"statement/{month}", zone=bank.zone)
        rows = [
            (f"{at:%Y-%m}-{day:02}", pick(_BOOKED, month, day), f"{chance(month, day) * 9000:.2f}")
            for day in range(2, 27, 3)
        ]
        name = f"Kontoutdrag {at:%Y-%m}.csv"
        data = attachment_files.csv(
            [("Datum", "Händelse", "Belopp"), *rows], charset="windows-1252"
        )
        mail = ComposedMail(
            sender=bank,
            to=[(account.owner.name, account.address)],
            subject=f"Kontoutdrag {at:%Y-%m}",
            text="Hej Nora,\n\nhär är kontoutdraget för månaden. Ring om något ser konstigt ut.",
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, "statement", month, domain="kustbanken.example"),
            parts=(mime_writer.file(name, "text/csv", data),),
        )
        yield deliver(account, mail, labels=("Insurance & Bank",))


_BOOKED = ("Ek och lärk", "Löner", "Elavgift", "Hyra skjul 4", "Färg", "Kund, delbetalning")


# Warnings and invitations


def _warnings(account: DemoAccount) -> Iterator[NewMail]:
    sender = Person(
        key="warn",
        name="Harbour Warnings",
        email="noreply@harbour-warnings.example",
        transfer="7bit",
        charset="us-ascii",
    )
    for number, days in enumerate(range(350, 0, -19)):
        said = _said("warnings", number)
        at = account.moment(days, hour=4 + number % 9, seed=f"warning/{number}", zone=sender.zone)
        mail = ComposedMail(
            sender=sender,
            to=[("", account.address)],
            subject=said,
            text=f"{said}.\n\nIssued {at:%H:%M} UTC. Valid for 24 hours. Do not answer this mail.",
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id("warning", number, domain="harbour-warnings.example"),
            extra_headers=(("Auto-Submitted", "auto-generated"),),
        )
        yield deliver(account, mail, labels=_system(account, _UPDATES))


def _nights(account: DemoAccount) -> Iterator[NewMail]:
    """Yield the report of each of the last fourteen nights."""
    yard = account.mailbox == PROVIDER_A
    watch = stranger(
        "Shed Watch <night@shed-watch.example>" if yard else "Backup <backup@studio-backup.example>"
    )
    domain = watch.email.rpartition("@")[2]
    for days in range(1, 15):
        at = account.moment(days, hour=5, seed=f"night/{days}", zone="UTC")
        number = int(chance(at.date(), domain) * 900)
        text = (
            f"Doors closed, pumps off, {number % 19} degrees in shed 3, {number % 7} gulls."
            if yard
            else f"{number} files copied, {number % 3} skipped. Nothing to do."
        )
        mail = ComposedMail(
            sender=watch,
            to=[("", account.address)],
            subject=f"Night report {at:%Y-%m-%d}" if yard else f"Backup of {at:%Y-%m-%d} finished",
            text=text,
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id("night", at.date(), domain=domain),
            extra_headers=(("Auto-Submitted", "auto-generated"),),
        )
        yield deliver(account, mail, labels=_system(account, _UPDATES))


def _invitations(account: DemoAccount) -> Iterator[NewMail]:
    for number, (who, title, place) in enumerate(_MEETINGS[account.mailbox]):
        sender = PEOPLE[who]
        at = account.moment(12 + number * 47, hour=10, seed=title, zone=sender.zone)
        start = (at + timedelta(days=6)).replace(minute=0, second=0, microsecond=0)
        uid = message_id("meeting", title, domain="planner.example")
        request = attachment_files.invitation(
            uid=uid,
            title=title,
            start=start,
            end=start + timedelta(hours=1),
            organiser=sender.email,
            guest=account.address,
            place=place,
        )
        mail = ComposedMail(
            sender=sender,
            to=[(account.owner.name, account.address)],
            subject=f"Invitation: {title}",
            text=f"{sender.name} invites you: {title}, {start:%Y-%m-%d %H:%M} UTC, {place}.",
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id(account.mailbox, "invite", title, domain="planner.example"),
            parts=_calendar_parts(request),
        )
        yield deliver(account, mail)


def _calendar_parts(request: str) -> Sequence[mime_writer.Part]:
    shown = mime_writer.text(request, subtype="calendar", params="; method=REQUEST")
    return (shown, mime_writer.file("invite.ics", "application/ics", request.encode()))


_MEETINGS = {
    "provider-a": (
        ("linnea", "Budget for the spring", "Office, upstairs"),
        ("karin", "Måsen: hand-over to the council", "Old Town, quay 3"),
        ("maja", "Visit of the insurance", "Shed 4"),
        ("margarethe", "Ortstermin „Elbe 7“", "Ponton, Hamburg"),
        ("astrid", "Sail loft: inventory", "Sail loft"),
        ("peter", "Årsmöte med banken", "Kustbanken"),
        ("priya", "Stability test of the launch", "Berth 11"),
    ),
    "provider-b": (
        ("fatou", "Besson: site visit", "Quai sud"),
        ("henrik", "Portfolio evening", "Studio, long table"),
        ("bernd", "Abnahme Treppenhaus", "Elbspeicher, Eingang Nord"),
        ("yuki", "瀬戸内 定例会議", "Online"),
        ("ana", "Jury talk", "Online"),
        ("saskia", "Structural review", "Studio"),
        ("camille", "Rendez-vous à la mairie", "Mairie, salle 2"),
    ),
}


def _system(account: DemoAccount, label: str) -> tuple[str, ...]:
    """Return *label* where the provider has such system labels."""
    return (label,) if account.mailbox == PROVIDER_A else ()
