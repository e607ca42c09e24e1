"""Seed of the provider B check: a mailbox and calendars (see ``peers/serve.py``)."""

from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage

from sandbox.calendar.records import EventContent, NewEvent, from_instant
from sandbox.provider_b.mailbox_rights import grant
from sandbox.provider_b.outlook_calendar.calendar_roles import CalendarRole, share
from sandbox.world.calendar import calendars, events
from sandbox.world.accounts import demo_accounts
from sandbox.world.calendar.meetings import instant, occurrences

START = 1_767_600_000_000  # 2026-01-05T08:00:00Z
MINE = "me@provider-b.example"
READER = "reader@provider-b.example"  # a person with a role in the team's calendar alone
SHARED = ("Mail.ReadWrite.Shared", "Mail.Send.Shared")
SCOPES = ("Mail.ReadWrite", "Mail.Send", "User.Read", "MailboxSettings.ReadWrite")


def fill(sandbox):
    mails, tokens = sandbox.state.mails, sandbox.state.tokens
    for number in range(23):
        mails.add(
            "provider-b",
            _message_bytes(number),
            folder="inbox",
            labels=("Home",) if number % 3 == 0 else (),
            is_read=number % 2 == 0,
            received_ms=START + number * 60_000,
        )
    mails.add("provider-b", _message_bytes(90), folder="trash", received_ms=START)
    mails.add_label("provider-b", "Home")
    mails.add("provider-b-shared", _message_bytes(91), folder="inbox", received_ms=START)
    grant(sandbox.state.database, "provider-b-shared", MINE, ("full-access", "send-as"))
    _share_calendar(sandbox)
    return {
        "shared": tokens.issue("providerB", MINE, (*SCOPES, *SHARED)),
        "token": tokens.issue("providerB", MINE, SCOPES),
        "calendar": tokens.issue("providerB", MINE, ("Calendars.ReadWrite", "User.Read")),
        "meetings": _meetings(sandbox),
        "reading": tokens.issue("providerB", READER, ("Calendars.Read.Shared",)),
        "reader": tokens.issue("providerB", MINE, ("Mail.Read",)),
        "application": tokens.issue("providerB", "app", ("Mail.Read",), app_only=True),
        "refresh": tokens.issue_refresh("providerB", MINE, SCOPES),
    }


def _share_calendar(sandbox):
    """Let a person read the calendar of the shared mailbox, but not its private event."""
    calendar = sandbox.state.calendars.primary("provider-b-shared")
    for hour, title in ((9, "Plan"), (11, "Doctor")):
        start = datetime(2026, 3, 20, hour, tzinfo=UTC)
        content = EventContent(
            start=from_instant(start),
            end=from_instant(start + timedelta(hours=1)),
            title=title,
            location="Room 5",
            is_private=title == "Doctor",
        )
        sandbox.state.calendars.add_events(calendar, (NewEvent(content=content),))
    share(sandbox.state.database, calendar, READER, CalendarRole.READ)


def _meetings(sandbox):
    """Fill the calendars; return the planned meetings of the two months around the seed's day."""
    now = datetime(2026, 3, 20, tzinfo=UTC)  # the clocks change on the 29th
    events.seed(sandbox.state.database, sandbox.state.calendars, now)
    account = demo_accounts(date(2026, 3, 20))[1]
    middle = datetime.combine(account.today, time(), UTC)
    since, until = middle - timedelta(days=30), middle + timedelta(days=30)
    planned = [
        occurrence
        for meeting in calendars.planned_meetings(account)
        if meeting.calendar == "studio" and not meeting.is_all_day
        for occurrence in occurrences(meeting, since, until)
    ]
    return {
        "since": since.isoformat().replace("+00:00", "Z"),
        "until": until.isoformat().replace("+00:00", "Z"),
        "planned": sorted(
            [
                occurrence.title,
                f"{instant(occurrence.start):%Y-%m-%dT%H:%M:%S}.0000000",
                f"{instant(occurrence.end):%Y-%m-%dT%H:%M:%S}.0000000",
                occurrence.cancelled,
            ]
            for occurrence in planned
        ),
    }


def _message_bytes(number):
    mail = EmailMessage()
    mail["From"] = "Zoë Müller <zoe@x.test>" if number % 2 else "Ann <ann@x.test>"
    mail["To"] = f"{MINE}, Bob <bob@y.test>"
    mail["Cc"] = "carl@z.test"
    mail["Subject"] = f"Lease {number} – café"
    mail["Message-ID"] = f"<lease-{number}@x.test>"
    mail["Date"] = f"Mon, 05 Jan 2026 08:{number % 90:02}:00 +0000"
    if number == 5:
        mail["In-Reply-To"] = "<lease-4@x.test>"
    mail.set_content(f"Hello {number}\n\nThe rent is due.\n")
    if number % 4 == 0:
        mail.add_alternative(f"<p>Hello <b>{number}</b></p>", subtype="html")
    if number == 7:
        mail.add_attachment(b"pdf!", maintype="application", subtype="pdf", filename="leäse.pdf")
        mail.add_attachment(
            b"png",
            maintype="image",
            subtype="png",
            filename="l.png",
            disposition="inline",
            cid="<l@x>",
        )
    return mail.as_bytes()
