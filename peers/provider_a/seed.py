"""Seed of the provider A check: a mailbox and calendars (see ``peers/serve.py``)."""

from datetime import UTC, date, datetime, time, timedelta
from email.message import EmailMessage

from sandbox.mail.store import Account
from sandbox.world.calendar import calendars, events
from sandbox.world.accounts import demo_accounts
from sandbox.world.calendar.meetings import instant, occurrences

ACCOUNT = Account("me@a.test", "Me Myself")
DAY = 86_400_000
START = 1_767_000_000_000


def fill(sandbox):
    mails, tokens = sandbox.state.mails, sandbox.state.tokens
    mails.set_account("provider-a", ACCOUNT)
    mails.set_account("provider-b", Account("me@b.test", "Other"))
    mails.add_label("provider-a", "Clients/Big One")
    for number in range(25):
        mails.add(
            "provider-a",
            message_bytes(number),
            folder="inbox",
            labels=("Clients/Big One",) if number % 5 == 0 else (),
            is_read=number % 2 == 0,
            received_ms=START + number * DAY,
        )
    mails.add("provider-a", message_bytes(98), folder="trash", received_ms=START)
    mails.add("provider-a", message_bytes(99), folder="spam", received_ms=START)
    scopes = ["https://www.googleapis.com/auth/gmail.modify"]
    return {
        "token": tokens.issue("providerA", ACCOUNT.email, scopes),
        "full": tokens.issue("providerA", ACCOUNT.email, ["https://mail.google.com/"]),
        "calendar": tokens.issue(
            "providerA", ACCOUNT.email, ["https://www.googleapis.com/auth/calendar"]
        ),
        "meetings": meetings(sandbox),
        "metadata": tokens.issue("providerA", ACCOUNT.email, ["gmail.metadata"]),
        "refresh": tokens.issue_refresh("providerA", ACCOUNT.email, scopes),
    }


def meetings(sandbox):
    """Fill the calendars; return the planned meetings of the two months around the seed's day."""
    now = datetime(2026, 3, 20, tzinfo=UTC)  # the clocks change on the 29th, elsewhere earlier
    events.seed(sandbox.state.database, sandbox.state.calendars, now)
    account = demo_accounts(date(2026, 3, 20))[0]
    middle = datetime.combine(account.today, time(), UTC)
    since, until = middle - timedelta(days=30), middle + timedelta(days=30)
    planned = [
        occurrence
        for meeting in calendars.planned_meetings(account)
        if meeting.calendar == "yard"
        for occurrence in occurrences(meeting, since, until)
    ]
    return {
        "since": since.isoformat(),
        "until": until.isoformat(),
        "planned": sorted(
            [
                occurrence.title,
                instant(occurrence.start).isoformat(),
                instant(occurrence.end).isoformat(),
                not hasattr(occurrence.start, "hour"),
            ]
            for occurrence in planned
            if not occurrence.cancelled
        ),
        "cancelled": sum(occurrence.cancelled for occurrence in planned),
    }


def message_bytes(number):
    message = EmailMessage()
    message["From"] = f"Jürgen Ä. <sender{number % 3}@b.test>"
    message["To"] = ACCOUNT.email
    message["Cc"] = '"Last, First" <cc@c.test>'
    message["Subject"] = f"Lease {number} – überarbeitet"
    message["Message-ID"] = f"<{number}@b.test>"
    message.set_content(f"Number {number}: grüße & <tags>")
    message.add_alternative(f"<p>Number <b>{number}</b></p>", subtype="html")
    if number % 5 == 1:
        message.add_attachment(
            b"%PDF" * 100, maintype="application", subtype="pdf", filename="Prüfung.pdf"
        )
    return message.as_bytes()
