"""
"Not fetched", by the server's own record of what it has sent.

For each mask word a token that may not see it lists, gets, searches, reads threads and replies;
then the record of its sessions has no octet of what the word hides, as it is or encoded.
There are 200 calls over all words, with `TIMES` more.
"""

import quopri
from base64 import b64encode
from email.message import EmailMessage
from itertools import cycle, islice

import pytest
import world as worlds
from dovecot import dovecot_server
from postfix import postfix_server
from run_sizes import times

from policy.vocabulary import EmailField

MESSAGES = "/api/access/email/messages"
LOGIN = {"username": "ada@example.test", "password": "ada-secret"}
CALLS = times(200)
MAILS = 6

pytestmark = pytest.mark.slow

# What tells each word's value, wherever it stands.
TELLING = {
    EmailField.SUBJECT: ("SubjectCanary",),
    EmailField.FROM: ("AuthorCanary", "author@canary.example"),
    EmailField.TO: ("ReaderCanary", "reader@canary.example"),
    EmailField.CC: ("CopyCanary", "copy@canary.example"),
    EmailField.BCC: ("BlindCanary", "blind@canary.example"),
    EmailField.BODY: ("EndingCanary",),  # behind what a preview shows
    EmailField.SENT_AT: ("05 Mar 2019 13:37",),
    EmailField.ATTACHMENTS: ("ContentCanary",),  # their names: docs/spec/upstream/imap.md
    EmailField.IMPORTANCE: ("urgent", "Importance"),
}
# The body begins with the preview: without both words no octet of it is asked for.
WORDS = [(word,) for word in TELLING] + [(EmailField.BODY, EmailField.BODY_PREVIEW)]
PREVIEW = ("BeginningCanary",)
ALWAYS_HIDDEN = ("PrivateCanary",)  # a header that no field shows
SENT, REFUSED, IN_PART = {200, 202}, {403}, {200, 202, 403}
REPLIES = {  # the statuses where a reply would show what is hidden
    (EmailField.FROM,): REFUSED,
    (EmailField.TO,): IN_PART,  # to all
    (EmailField.CC,): IN_PART,
}


def letter(number):
    """Write a mail with each canary; their encodings alternate."""
    message = EmailMessage()
    message["Message-ID"] = f"<{number}@canary.example>"
    if number % 3:
        message["References"] = f"<{number - number % 3}@canary.example>"
    message["From"] = f"AuthorCanary {'Ä' * (number % 2)} <author@canary.example>"
    message["To"] = "ada@example.test, ReaderCanary <reader@canary.example>"
    message["Cc"] = "CopyCanary <copy@canary.example>"
    message["Bcc"] = "BlindCanary <blind@canary.example>"
    message["Subject"] = f"{'Ä' * (number % 2)} SubjectCanary"
    message["Date"] = "Tue, 05 Mar 2019 13:37:00 +0000"
    message["Importance"] = "high"
    message["X-Priority"] = "urgent"
    message["X-Private"] = "PrivateCanary"
    text = "BeginningCanary of words\n" + "and more words \n" * 600 + "EndingCanary\n"
    encoding = ("7bit", "base64", "quoted-printable")[number % 3]
    message.set_content(text, cte=encoding)
    message.add_alternative(f"<p>{text}</p>", subtype="html", cte=encoding)
    content = b"ContentCanary" * 50
    message.add_attachment(content, "application", "pdf", filename="FileCanary.pdf")
    return message.as_bytes()


class Record:
    """Return the bytes that the server has sent to the user since the last call."""

    def __init__(self, server):
        self._server = server
        self._read = {}

    def take(self):
        """Return it as it is on the wire, sessions one after another."""
        sent = b""
        for path in sorted((self._server.folder / "raw" / "ada").glob("*.out")):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                sent += file.read()
                self._read[path] = file.tell()
        return sent


def encodings(canary):
    """The canary as it is, and in base64 at each of the three places of a group of bytes."""
    yield canary.encode()
    for lead in range(3):
        encoded = b64encode(bytes(lead) + canary.encode())
        # The first characters mix with what stands before, the last ones with what follows.
        yield encoded[-(-lead * 8 // 6) : len(encoded) - 4]


def canaries_in(sent, canaries):
    """Return the canaries that stand in what was sent, in whichever encoding."""
    packed = sent.replace(b"\r\n", b"")
    texts = (sent, packed, quopri.decodestring(sent), quopri.decodestring(packed, header=True))
    return [
        canary
        for canary in canaries
        if any(spelling in text for spelling in encodings(canary) for text in texts)
    ]


@pytest.fixture(scope="module")
def dovecot():
    with dovecot_server() as server:
        yield server


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


@pytest.fixture
async def world(world_template, tmp_path):
    async with worlds.opened(*world_template, tmp_path / "world", rate_limits="off") as world:
        yield world


@pytest.fixture
async def connection(connect, mailbox, postfix, dovecot):
    for number in range(MAILS):
        await mailbox.add_raw(letter(number), at=number, labels=("LabelCanary",))
    mailbox.session.close()
    created = await connect(credentials={**LOGIN, "submissionUrl": postfix.url()})
    return created.json()


async def tokens(world, connection, hidden):
    """Make tokens that may not see some words: one that sends, and one that leaves drafts."""
    visible = [word.value for word in EmailField if word not in hidden]
    settings = {"visibleEmailFields": visible, "allowedEmailOperations": ["all"]}
    settings["allowedConnectionIds"] = [connection["id"]]
    return await world.token(settings), await world.token({**settings, "sendMode": "draft"})


def requests(emails):
    """Requests of every kind of read, without end: kind, method, path and body."""
    searches = ("q=words", "q=SubjectCanary", "subject=canary", "from=author", "to=reader")
    searches += ("unread=true", "hasAttachment=true&limit=4", "label=LabelCanary&limit=4")
    searches += ("after=2020-01-01&before=2030-01-01",)
    for number, (email, search) in enumerate(zip(cycle(emails), cycle(searches), strict=False)):
        path = f"{MESSAGES}/{email['id']}"
        yield "list", "GET", f"{MESSAGES}?label=INBOX&includeBody={number % 2}", None
        yield "get", "GET", path, None
        yield "thread", "GET", f"/api/access/email/threads/{email['threadId']}", None
        yield "search", "GET", f"{MESSAGES}?{search}", None
        file = email["attachments"][0]["id"]
        yield "file", "GET", f"{path}/attachments/{file}", None
        reply = {"body": "Fine.", "replyAll": number % 2 == 1}
        yield "reply", "POST", f"{path}/reply", reply


async def run(world, connection, hidden, number, record):
    """Make calls; return their statuses by kind, and what was sent for replies and for reads."""
    async with world.client((await tokens(world, connection, ()))[0]) as client:
        emails = (await client.get(f"{MESSAGES}?label=INBOX")).json()["emails"]
        assert len(emails) == MAILS
    record.take()
    token, drafts = await tokens(world, connection, hidden)
    statuses = {}
    sent = {"reads": [], "replies": []}
    async with world.client(token) as client, world.client(drafts) as drafting:
        for place, (kind, method, path, body) in enumerate(islice(requests(emails), number)):
            # Few replies are sent and many left as drafts, which no read returns.
            by = drafting if kind == "reply" and place > 10 else client
            if kind == "reply":
                sent["reads"].append(record.take())
            answer = await by.request(method, path, json=body)
            if kind == "reply":
                sent["replies"].append(record.take())
            statuses.setdefault(kind, set()).add(answer.status_code)
    sent["reads"].append(record.take())
    return statuses, {kind: b"".join(pieces) for kind, pieces in sent.items()}


@pytest.mark.parametrize("hidden", WORDS, ids=" ".join)
async def test_no_octet_of_a_hidden_value_leaves_the_server(world, connection, dovecot, hidden):
    record = Record(dovecot)
    canaries = [canary for word in hidden for canary in TELLING.get(word, PREVIEW)]

    statuses, sent = await run(world, connection, hidden, CALLS // len(WORDS), record)

    assert canaries_in(sent["reads"], (*canaries, *ALWAYS_HIDDEN)) == []
    # A reply has the subject of its thread: docs/spec/email.md#replies-with-hidden-fields.
    in_replies = [] if hidden == (EmailField.SUBJECT,) else canaries
    assert canaries_in(sent["replies"], (*in_replies, *ALWAYS_HIDDEN)) == []
    assert statuses["list"] == statuses["get"] == statuses["thread"] == {200}
    assert statuses["file"] == {403 if EmailField.ATTACHMENTS in hidden else 200}
    assert statuses["search"] <= {200, 403}
    assert statuses["reply"] == REPLIES.get(hidden, SENT)


async def test_the_canaries_are_seen_where_nothing_is_hidden(world, connection, dovecot):
    """The search finds each canary, in the encodings of the letters."""
    record = Record(dovecot)

    _, sent = await run(world, connection, (), 40, record)

    everything = [canary for canaries in TELLING.values() for canary in canaries]
    seen = canaries_in(sent["reads"], [*everything, *PREVIEW, *ALWAYS_HIDDEN])
    assert seen == [*everything, *PREVIEW]
    for number in range(3):
        assert canaries_in(letter(number).replace(b"\n", b"\r\n"), everything) == everything
