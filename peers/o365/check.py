"""
Check the sandbox's Outlook with the O365 client, unchanged, over a socket.

Not served, and so not called: the deletion of a mail folder, subscriptions, and delta queries.
"""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import requests
from O365 import Account, MSGraphProtocol
from serving import served

SEED = Path(__file__).resolve().parents[1] / "provider_b" / "seed.py"


def main() -> None:
    with served(SEED) as facts:
        mail = connect(f"{facts['url']}/provider-b", facts["token"])
        reading(mail)
        writing(mail)
        refusing(mail, connect(f"{facts['url']}/provider-b", facts["reader"]))
        calendar = connect(f"{facts['url']}/provider-b", facts["calendar"])
        meetings(calendar, facts["meetings"])
    print("O365 agrees")


def connect(base, token):
    class Protocol(MSGraphProtocol):
        _protocol_url = f"{base}/"

    account = Account(
        ("client", "secret"), protocol=Protocol(timezone="UTC"), raise_http_errors=True
    )
    account.con.session = account.con.get_session()
    account.con.update_session_auth_header(access_token=token)
    return account


def reading(account):
    me = account.get_current_user_data()
    assert me.mail, me
    mailbox = account.mailbox()
    inbox = mailbox.inbox_folder()
    messages = list(inbox.get_messages(limit=23, batch=7))
    assert len({message.object_id for message in messages}) == 23
    received = [message.received for message in messages]
    assert received == sorted(received, reverse=True)
    query = mailbox.new_query().contains("subject", "Lease 7 ")
    (lease,) = inbox.get_messages(query=query, download_attachments=True)
    assert lease.sender.address == "zoe@x.test"
    assert "leäse.pdf" in [attachment.name for attachment in lease.attachments]
    matches = list(mailbox.get_messages(query=mailbox.new_query().search("Hello 5"), limit=25))
    (plain,) = (message for message in matches if message.subject.startswith("Lease 5 "))
    assert "Hello 5" in plain.body, plain.body
    folders = {folder.name for folder in mailbox.get_folders(limit=50)}
    assert {"Inbox", "Archive", "Drafts"} <= folders, folders
    assert len(list(mailbox.deleted_folder().get_messages())) == 1


def writing(account):
    mailbox = account.mailbox()
    message = account.new_message()
    message.to.add("bob@y.test")
    message.subject = "From O365 ✓"
    message.body = "<p>Hello</p>"
    assert message.save_draft()
    message.subject = "Changed"
    assert message.save_message() or message.save_draft()
    assert message.send()
    sent = mailbox.sent_folder()
    assert "Changed" in [item.subject for item in sent.get_messages(limit=5)]

    (lease,) = mailbox.inbox_folder().get_messages(
        query=mailbox.new_query().contains("subject", "Lease 3 ")
    )
    assert lease.mark_as_read() and lease.mark_as_unread()
    reply = lease.reply(to_all=False)
    reply.body = "Yes"
    assert reply.send()
    forward = lease.forward()
    forward.to.add("carl@z.test")
    assert forward.send()
    kept = mailbox.create_child_folder("Kept")
    assert lease.copy(kept)
    assert lease.move(kept)
    assert len(list(kept.get_messages())) == 2


def meetings(account, facts):
    schedule = account.schedule()
    default = schedule.get_default_calendar()
    calendars = list(schedule.list_calendars())
    assert default.calendar_id in {calendar.calendar_id for calendar in calendars}
    since, until = (dt.datetime.fromisoformat(facts[name]) for name in ("since", "until"))
    start = dt.datetime(2026, 4, 27, 1, tzinfo=ZoneInfo("UTC"))
    event = default.new_event("Night watch")
    event.start, event.end = start, start + dt.timedelta(hours=1)
    event.location = "Quay 4"
    event.attendees.add("ann@x.test")
    assert event.save()
    read = default.get_event(event.object_id)
    assert (read.subject, read.start, read.location["displayName"]) == (
        "Night watch",
        start,
        "Quay 4",
    )
    read.subject = "Day watch"
    assert read.save()
    listed = set()
    for calendar in calendars:
        listed |= {
            (entry.subject, entry.start.astimezone(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S"))
            for entry in calendar.get_events(
                include_recurring=True, start_recurring=since, end_recurring=until, limit=999
            )
        }
    planned = {
        (title, begin.partition(".")[0])
        for title, begin, _, cancelled in facts["planned"]
        if not cancelled
    }
    assert planned <= listed, planned - listed
    assert read.delete()
    busy = schedule.get_availability(
        schedules=[account.get_current_user_data().mail], start=since, end=until
    )
    assert len(busy) == 1


def refusing(account, reader):
    for call in (
        lambda: account.mailbox().get_message("nowhere"),
        lambda: reader.mailbox().create_child_folder("x"),
        lambda: account.schedule().get_default_calendar(),
    ):
        try:
            call()
        except requests.exceptions.HTTPError as problem:
            # Without a refresh token the client takes a 403 for a token that has expired.
            assert str(problem)[:3] in {"400", "404"} or "expired" in str(problem), problem
        else:
            raise AssertionError("not refused")


if __name__ == "__main__":
    main()
