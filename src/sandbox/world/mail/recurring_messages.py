"""Mail that recurs: week plans, newsletters, invoices, warnings, nightly reports, invitations."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NewMail
from sandbox.world.accounts import DemoAccount, stranger
from sandbox.world.chance import chance, pick
from sandbox.world.mail import attachment_files, mime_writer
from sandbox.world.mail.composer import ComposedMail, message_id
from sandbox.world.mail.conversation_scripts import ConversationScript, ScriptedMail
from sandbox.world.mail.conversations import conversation_mails
from sandbox.world.mail.deliveries import deliver, system_label
from sandbox.world.mail.invoices import invoice_mails
from sandbox.world.mail.newsletters import newsletter_mails
from sandbox.world.mail.texts import phrases
from sandbox.world.people import PEOPLE, Person

_UPDATES = "CATEGORY_UPDATES"
# mailbox -> (organiser, title, place)
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


def recurring_mails(account: DemoAccount) -> Iterator[NewMail]:
    """Yield a year of recurring mail, in no order."""
    for weeks in range(1, 48):
        yield from conversation_mails(account, _week_plan(account, weeks))
    yield from newsletter_mails(account)
    yield from invoice_mails(account)
    if account.mailbox == PROVIDER_A:
        yield from _warnings(account)
    yield from _nightly_reports(account)
    yield from _invitations(account)


def _week_plan(account: DemoAccount, weeks: int) -> ConversationScript:
    yard = account.mailbox == PROVIDER_A
    team, author = ("yard", "jonas") if yard else ("studio", "fatou")
    monday = account.today - timedelta(days=account.today.weekday() + 7 * (weeks - 1))
    number = monday.isocalendar().week
    title = f"Week {number} in the yard" if yard else f"Monday round, week {number}"
    work = [_phrase(f"{team} work", weeks * 3 + turn) for turn in range(3)]
    weather = _phrase(f"{team} weather", weeks)
    greeting = pick(("Morning all,", "Hello everybody,", "Good morning,", "Hi all,"), title)
    plan = "\n\n".join((greeting, "\n".join(f"- {line}" for line in work), weather))
    mails = [ScriptedMail(author, (account.team_list,), ("me",), 0, plan)]
    for turn in range(int(chance(title, "answers") * 2.4)):
        sender, _, text = _phrase(f"{team} answers", weeks * 2 + turn).partition(": ")
        mails.append(ScriptedMail(sender, (author,), (account.team_list,), 1 + turn * 3, text))
    days = (account.today - monday).days
    return ConversationScript(f"{title}, {monday:%Y}", days, (), starred=False, mails=tuple(mails))


def _phrase(heading: str, turn: int) -> str:
    """Return the phrase of number *turn* under *heading*; none repeats before all were used."""
    texts = phrases()[heading]
    text = texts[(turn * 7) % len(texts)]
    number = 3 + turn * 5 % 17
    return text.format(number=number, more=number + 2, hour=f"{number % 12 + 7}:20")


def _warnings(account: DemoAccount) -> Iterator[NewMail]:
    sender = Person(
        key="warn",
        name="Harbour Warnings",
        email="noreply@harbour-warnings.example",
        transfer="7bit",
        charset="us-ascii",
    )
    for number, days in enumerate(range(350, 0, -19)):
        warning = _phrase("warnings", number)
        at = account.moment(days, hour=4 + number % 9, seed=f"warning/{number}", zone=sender.zone)
        mail = ComposedMail(
            sender=sender,
            to=[("", account.address)],
            subject=warning,
            text=f"{warning}.\n\nIssued {at:%H:%M} UTC. Valid for 24 hours."
            " Do not answer this mail.",
            sent_at=at,
            mailbox_address=account.address,
            message_id=message_id("warning", number, domain="harbour-warnings.example"),
            extra_headers=(("Auto-Submitted", "auto-generated"),),
        )
        yield deliver(account, mail, labels=system_label(account, _UPDATES))


def _nightly_reports(account: DemoAccount) -> Iterator[NewMail]:
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
        yield deliver(account, mail, labels=system_label(account, _UPDATES))


def _invitations(account: DemoAccount) -> Iterator[NewMail]:
    for number, (organiser, title, place) in enumerate(_MEETINGS[account.mailbox]):
        sender = PEOPLE[organiser]
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
