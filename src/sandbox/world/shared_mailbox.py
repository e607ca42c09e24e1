"""
The shared mailbox of the studio, which Nora opens with her own sign-in, and its calendar.

Clients write to it about the studio's work. One event is private; Nora sees it by her full access.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from sandbox.calendar.records import Attendee, EventContent, NewEvent, from_local
from sandbox.mail.ids import SHARED_B
from sandbox.mail.store import Account
from sandbox.provider_b.mailbox_rights import Right, grant
from sandbox.state import SandboxState
from sandbox.world.mail.composer import ComposedMail, message_id, render
from sandbox.world.mail.deliveries import new_mail
from sandbox.world.people import OFFICE_ACCOUNT, PEOPLE, STUDIO_ACCOUNT

_SEEDED = "world:shared-mailbox"  # meta key: the day that the world is made for
_NAME = "Studio office"
_ZONE = "Europe/Stockholm"
# (days ago, sender, subject, text)
_MAILS = (
    (
        1,
        "margarethe",
        "Visitors on Thursday",
        (
            "Four people of the museum's board would like to see the model before they decide. "
            "Is the studio open at ten?"
        ),
    ),
    (
        2,
        "karin",
        "Drawings for the permit",
        (
            "The harbour office has the plans of the jetty, but not the section through the quay. "
            "We need it by the end of the month."
        ),
    ),
    (
        5,
        "etienne",
        "Devis pour la charpente",
        "Bonjour,\n\nvotre demande est bien arrivée. Le devis suit vendredi.",
    ),
    (
        9,
        "birgitta",
        "Invoice address",
        "Please send invoices to the property company from now on, not to me.",
    ),
    (
        16,
        "yamamoto",
        "Thank you",
        "Thank you for the tour of the studio. The ferry terminal is in good hands.",
    ),
)
# (days from today, hour, hours, title, place, whether it is private)
_EVENTS = (
    (-2, 9, 1, "Post and telephone", "Reception", False),
    (1, 10, 2, "Visit of the museum's board", "Model room", False),
    (2, 13, 1, "Interview, office assistant", "Meeting room", True),
    (4, 15, 1, "Delivery of the printer", "Reception", False),
)


def seed(state: SandboxState, now: datetime | None = None) -> None:
    """Write the mailbox and its calendar, unless an earlier call did."""
    today = (now or datetime.now(UTC)).astimezone(UTC).date()
    if state.database.meta(_SEEDED) is not None:
        return
    with state.database.transaction():
        state.mails.set_account(SHARED_B, Account(OFFICE_ACCOUNT, _NAME))
        grant(state.database, SHARED_B, STUDIO_ACCOUNT, (Right.FULL_ACCESS, Right.SEND_AS))
        _fill_mailbox(state, today)
        _fill_calendar(state, today)
        state.database.set_meta(_SEEDED, today.isoformat())


def _fill_mailbox(state: SandboxState, today: date) -> None:
    mails = []
    for number, (days, sender, subject, text) in enumerate(_MAILS):
        sent_at = _moment(today, -days, 8 + number)
        mail = ComposedMail(
            sender=PEOPLE[sender],
            to=((_NAME, OFFICE_ACCOUNT),),
            subject=subject,
            text=text,
            sent_at=sent_at,
            mailbox_address=OFFICE_ACCOUNT,
            message_id=message_id("office", number, domain=PEOPLE[sender].email.partition("@")[2]),
        )
        mails.append(new_mail(render(mail), sent_at, read=days > 3))
    state.mails.add_many(SHARED_B, mails[::-1])


def _fill_calendar(state: SandboxState, today: date) -> None:
    calendar = state.calendars.add_calendar(SHARED_B, "Calendar", zone=_ZONE, is_primary=True)
    owner = Attendee(email=OFFICE_ACCOUNT, name=_NAME, response="accepted")
    events = []
    for days, hour, hours, title, place, is_private in _EVENTS:
        start = from_local(datetime.combine(today + timedelta(days=days), time(hour)), _ZONE)
        content = EventContent(
            start=start,
            end=start.later(timedelta(hours=hours)),
            title=title,
            location=place,
            organiser=owner,
            is_private=is_private,
        )
        events.append(NewEvent(content=content))
    state.calendars.add_events(calendar, events)


def _moment(today: date, days: int, hour: int) -> datetime:
    """Return an hour of a day as Stockholm counts it, in UTC."""
    local = datetime.combine(today + timedelta(days=days), time(hour), ZoneInfo(_ZONE))
    return local.astimezone(UTC)
