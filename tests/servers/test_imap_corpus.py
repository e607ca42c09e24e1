"""
Mail that nobody here wrote, and the odd mail of the demo, delivered by Postfix and read by REST.

The same messages are in mailboxes of the providers A and B: subject, sender, date, body and
attachments are the same, but for `DIFFERENCES`.
"""

import asyncio
import re
import smtplib
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

import pytest
import world as worlds
from dovecot import dovecot_server
from postfix import postfix_server
from world import api_id

from providers.connectors.imap.message_ids import Location, MessageIds
from providers.search_text import html_to_text
from sandbox.world.mail.edge_case_bodies import BODY_CASES
from sandbox.world.mail.edge_case_charsets import CHARSET_CASES
from sandbox.world.mail.edge_case_headers import HEADER_CASES, EdgeCase
from sandbox.world.mail.texts import odd_mails

MESSAGES = "/api/access/email/messages"
RECEIVED = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
NO_HEADERS = {"msg_19"}  # a digest's introduction: prose from the first line

pytestmark = pytest.mark.slow


def messages_of_the_interpreter():
    """Return the messages of the interpreter's own test suite; none where it is not installed."""
    try:
        spec = find_spec("test.test_email")
    except ModuleNotFoundError:
        return {}
    paths = (Path(spec.origin).parent / "data").glob("msg_*.txt") if spec and spec.origin else ()
    return {
        path.stem: without_envelope(path.read_bytes())
        for path in paths
        if path.stem not in NO_HEADERS
    }


def without_envelope(raw):
    """Leave out the first line of a message from an mbox file."""
    return raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw


def odd_messages():
    """Return the odd mail of the demo."""
    return {
        make.__name__: make(EdgeCase(address=worlds.ME_A, at=RECEIVED, seed=make.__name__))
        for make in (*HEADER_CASES, *BODY_CASES, *CHARSET_CASES)
    } | odd_mails()


CORPUS = dict(sorted({**messages_of_the_interpreter(), **odd_messages()}.items()))


@pytest.fixture
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture
async def world(world_template, tmp_path):
    async with worlds.opened(*world_template, tmp_path / "world", rate_limits="off") as world:
        yield world


def deliver(postfix):
    """Deliver the corpus; a first header names each message."""
    with smtplib.SMTP("127.0.0.1", postfix.open_port) as client:
        for name, raw in CORPUS.items():
            lines = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            marked = f"X-Corpus: {name}\r\n".encode() + lines
            client.sendmail("x@north.example", ["ada@example.test"], marked, ["BODY=8BITMIME"])


async def delivered(mailbox):
    """Wait for the corpus; return the locations of its messages by name."""
    for _ in range(200):
        await mailbox.session.command("EXAMINE INBOX")
        reply = await mailbox.session.command(
            "UID FETCH 1:* (UID BODY.PEEK[HEADER.FIELDS (X-CORPUS)])"
        )
        names = {}
        for uid, row in reply.rows().items():
            header = re.search(rb"X-Corpus: ([\w-]+)", row["BODY[HEADER.FIELDS (X-CORPUS)]"])
            names[header[1].decode()] = uid
        if len(names) == len(CORPUS):
            break
        await asyncio.sleep(0.1)
    status = await mailbox.session.command("STATUS INBOX (UIDVALIDITY)")
    validity = int(re.search(rb"UIDVALIDITY (\d+)", status.texts("STATUS")[0])[1])
    return {name: Location(b"INBOX", validity, uid) for name, uid in names.items()}


async def read(client, email_id):
    """Read a message and its attachments in a form in which the providers are alike."""
    answer = await client.get(f"{MESSAGES}/{email_id}")
    assert answer.status_code == 200, answer.text
    email = answer.json()
    files = []
    for file in email["attachments"]:
        content = await client.get(f"{MESSAGES}/{email_id}/attachments/{file['id']}")
        assert content.status_code == 200, content.text
        lines = content.content.replace(b"\r\n", b"\n").rstrip()
        files.append((file["name"], file["contentType"], lines))
    # Without a date a message was sent when it was received.
    is_dated = email["sentAt"] != email["receivedAt"]
    return {
        "subject": email["subject"] or None,  # "" on provider B where there is none
        "from": email["from"],
        "sentAt": email["sentAt"] if is_dated else None,
        "body": words(email),
        "attachments": files,
    }


def words(email):
    """The words of a body; provider B serves texts as HTML, and "" where there is none."""
    text = email["body"] or ""
    return (html_to_text(text) if email["bodyType"] == "html" else text).split()


def differing(own, other, provider):
    """
    Return the members that differ.

    Provider A lists no parts without names; provider B makes up names, also for mails in mails.
    """
    members = {name for name in own if name != "attachments" and own[name] != other[name]}
    if provider == "provider-a":
        compared = [
            sorted(file for file in files if file[0] != "noname")
            for files in (own["attachments"], other["attachments"])
        ]
    else:
        compared = [
            sorted(content for _, kind, content in files if not kind.startswith("message/"))
            for files in (own["attachments"], other["attachments"])
        ]
    return members | ({"attachments"} if compared[0] != compared[1] else set())


WITHIN = "a mail within a mail is an attachment; on provider B the text of one is a body"
BOUNDARY = "Dovecot finds other parts where a boundary or a header of a part is malformed"
CHARSET = "a text without a charset is us-ascii to Dovecot, which is Windows-1252"
INVITATION = "provider B makes a meeting request of a calendar part"
MADE_UP = "provider B makes up names, and keeps the lines of reports"

# Message -> why it differs, and the members that do, by the other provider.
DIFFERENCES = {
    "_unnamed_charset": (CHARSET, {"provider-a": {"body"}}),
    "calendar-alone": (INVITATION, {"provider-b": {"attachments", "body"}}),
    "invited": (INVITATION, {"provider-b": {"attachments"}}),
    "msg_04": (MADE_UP, {"provider-b": {"attachments"}}),
    "msg_11": (WITHIN, {"provider-b": {"body"}}),
    "msg_15": (
        BOUNDARY,
        {"provider-a": {"attachments", "body"}, "provider-b": {"attachments", "body"}},
    ),
    "msg_33": (BOUNDARY, {"provider-a": {"body"}, "provider-b": {"body"}}),
    "msg_37": (BOUNDARY, {"provider-a": {"body"}, "provider-b": {"attachments"}}),
    "msg_38": (BOUNDARY, {"provider-a": {"body"}, "provider-b": {"body"}}),
    "msg_39": (BOUNDARY, {"provider-b": {"attachments"}}),
    "msg_43": (MADE_UP, {"provider-b": {"attachments"}}),
    "msg_46": (WITHIN, {"provider-b": {"body"}}),
    "msg_47": (BOUNDARY, {"provider-a": {"body"}, "provider-b": {"body"}}),
}


async def test_the_mail_of_strangers_is_read_alike(world, connect, mailbox, dovecot):
    ids = {}
    for provider in ("provider-a", "provider-b"):
        mails = world.sandbox.state.mails
        for name, raw in CORPUS.items():
            stored = mails.add(
                provider, raw, folder="inbox", received_ms=int(RECEIVED.timestamp() + 60) * 1000
            )
            ids[provider, name] = api_id(provider, stored.immutable_id)
    with postfix_server(dovecot) as postfix:
        deliver(postfix)
        locations = await delivered(mailbox)
    assert locations.keys() == CORPUS.keys()
    connection = (await connect()).json()["id"]
    logins = world.gateway.services.accounts._ports._logins
    native = MessageIds((await logins.read(connection)).id_key)

    different = {}
    async with world.client(await world.token({})) as client:
        for name in CORPUS:
            own = await read(client, f"imap:{native.message_id(locations[name])}")
            for provider in ("provider-a", "provider-b"):
                other = await read(client, ids[provider, name])
                members = differing(own, other, provider)
                if members:
                    different.setdefault(name, {})[provider] = members

    expected = {name: members for name, (_, members) in DIFFERENCES.items() if name in CORPUS}
    assert different == expected
