"""The Gmail connector: its requests, and unusual responses."""

import asyncio
import base64
import re
from email import message_from_bytes
from functools import cache
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mail_upstreams import ALL, LISTED, TEXT, raw

from providers import search_text
from providers.connectors.provider_a.gmail import mapping, reading
from providers.connectors.provider_a.gmail.labels import LabelCache
from providers.connectors.provider_a.gmail.response_types import Message, ParsedMessage
from providers.failures import Broken, Missing, OutcomeUnknown, Throttled
from providers.http.client import deadline
from providers.mail import delivery, query_matching
from providers.mail.message_parts import arrange
from providers.ports.mail import Draft, Forward, MailChange, MailQuery, Reply, SendAttempt
from providers.records.base import EPOCH
from providers.records.mail import Email, Participant, SentMessage

BOB = Participant(email="bob@south.example")

# `parts` that is not followed by its members, and bytes of a body: both would bring the text.
BARE_PARTS = re.compile(r"\bparts\b(?!\()")
BODY_BYTES = re.compile(r"\bdata\b")


def without_bodies(account):
    """Whether no request could return the text of a message."""
    for call in account.upstream.calls:
        if call["method"] != "GET" or not re.search(r"/(messages|threads)/", call["path"]):
            continue
        form = call["query"].get("format", ["full"])[0]
        mask = call["query"].get("fields", [""])[0]
        if form == "raw" or "/attachments/" in call["path"]:
            return False
        if form == "full" and (
            not mask
            or BODY_BYTES.search(mask)
            or BARE_PARTS.search(mask)
            or re.search(r"\bpayload\b(?!\()|\bbody\b(?!\()", mask)
        ):
            return False
    return True


# -- requests


async def test_a_page_takes_one_list_call_and_one_batch(account_a):
    for number in range(30):
        account_a.add(f"Mail {number}", at=number)
    await account_a.port.search(MailQuery(), after=None, projection=LISTED)  # learns the labels
    account_a.forget_calls()

    await account_a.port.search(MailQuery(limit=20), after=None, projection=LISTED)

    outer = [call for call in account_a.upstream.calls if call["batch"] is None]
    assert [(call["method"], call["path"]) for call in outer] == [
        ("GET", "/gmail/v1/users/me/messages"),
        ("POST", "/batch/gmail/v1"),
    ]
    assert len(account_a.upstream.calls) - len(outer) == 22


async def test_no_call_requests_an_unwanted_body(account_a):
    name = account_a.add(
        "The lease", labels=("Work",), html="<p>x</p>", files=[("a.pdf", "application/pdf", b"x")]
    )
    thread = account_a.stored()[0].thread_id
    for query in (
        MailQuery(),
        MailQuery(subject="eas"),
        MailQuery(label="work", has_attachment=True),
        MailQuery(text="lease", text_fields=TEXT),
        MailQuery(text="words", text_fields=TEXT - {"body"}),
        MailQuery(text="lease", text_fields=frozenset({"subject"})),
    ):
        await account_a.port.search(query, after=None, projection=LISTED)
    await account_a.port.get(name, projection=LISTED)
    await account_a.port.thread(thread, projection=LISTED)
    await account_a.port.reply(
        name, Reply(body="Fine.", quote=False, attempt=SendAttempt(message_id="r@gw.example"))
    )
    await account_a.port.change(name, MailChange(read=True, add_labels=("New",)))
    await account_a.port.trash(name)

    assert without_bodies(account_a)


async def test_a_wanted_body_is_requested_level_by_level(account_a):
    name = account_a.add("The lease")

    await account_a.port.get(name, projection=ALL)

    (mask,) = account_a.asked("fields")
    assert mask.count("data") == 7  # the root and six levels below it
    assert not BARE_PARTS.search(mask)


@pytest.mark.parametrize(
    ("projection", "form", "headers"),
    [
        ({"id", "is_read", "labels"}, "minimal", []),
        ({"body_preview"}, "minimal", []),
        ({"subject", "from_"}, "metadata", ["Subject", "From"]),
        ({"importance"}, "metadata", ["Importance", "X-Priority"]),
        ({"has_attachments"}, "full", []),
    ],
    ids=["ids", "preview", "headers", "importance", "structure"],
)
async def test_the_cheapest_format_is_requested(account_a, projection, form, headers):
    name = account_a.add("The lease")

    await account_a.port.get(name, projection=frozenset(projection))

    call = account_a.calls[0]
    assert call["query"]["format"] == [form]
    assert call["query"].get("metadataHeaders", []) == headers
    assert ("snippet" in call["query"]["fields"][0]) is ("body_preview" in projection)


async def test_root_headers_are_not_requested_when_only_the_structure_is_wanted(account_a):
    name = account_a.add("The lease")

    await account_a.port.get(name, projection=frozenset({"has_attachments"}))

    assert account_a.asked("fields")[0].startswith(
        "id,threadId,labelIds,internalDate,payload(mimeType,filename,body(size),parts("
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "-in:drafts"),
        ({"text": "lease plan"}, "lease plan -in:drafts"),
        ({"text": '"the plan" OR -x'}, '"the plan" or x -in:drafts'),
        ({"text": "from:a {b}"}, '"from a" b -in:drafts'),
        ({"sender": "a@b.example"}, "from:a@b.example -in:drafts"),
        ({"sender": '"x" OR in:trash@b.example'}, 'from:"x or in trash b example" -in:drafts'),
        (
            {"participant": "a@b.example, c@b.example"},
            "{from:a@b.example to:a@b.example cc:a@b.example"
            " from:c@b.example to:c@b.example cc:c@b.example} -in:drafts",
        ),
        ({"sender": "Ana Mü"}, 'from:"ana mü" -in:drafts'),
        ({"recipient": "OR"}, "{to:or cc:or} -in:drafts"),
        ({"subject": "OR"}, "subject:or -in:drafts"),
        ({"subject": "jam 🎉 toast"}, "subject:jam subject:toast -in:drafts"),
        ({"sender": "a}{b@c.example"}, 'from:"a}{b@c.example" -in:drafts'),
        ({"recipient": "@b.example"}, '{to:"b.example" cc:"b.example"} -in:drafts'),
        ({"subject": 'case" for: (the pla'}, 'subject:"case for the pla" -in:drafts'),
        ({"unread": True, "has_attachment": True}, "is:unread has:attachment -in:drafts"),
        ({"has_attachment": False}, "-has:attachment -in:drafts"),
    ],
)
async def test_values_in_a_search_query_are_quoted(account_a, query, expected):
    fields = TEXT if "text" in query else frozenset()

    await account_a.port.search(
        MailQuery(text_fields=fields, **query), after=None, projection={"subject"}
    )

    assert account_a.asked("q") == [expected]


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("plan", {"subject"}, "subject:plan -in:drafts"),
        ("plan", {"subject", "from_"}, "{subject:plan from:plan} -in:drafts"),
        ("a@b.example", {"from_"}, 'from:"a b example" -in:drafts'),
        (
            '"the plan" x',
            {"subject", "cc"},
            '{subject:"the plan" cc:"the plan"} {subject:x cc:x} -in:drafts',
        ),
        ('"件名 the plan"', {"from_"}, 'from:"件名 the plan" -in:drafts'),
    ],
    ids=["prose", "a word", "an address", "a phrase and a word", "without blanks"],
)
async def test_words_are_searched_for_in_visible_fields(account_a, text, fields, expected):
    query = MailQuery(text=text, text_fields=frozenset(fields))

    await account_a.port.search(query, after=None, projection={"subject"})

    assert account_a.asked("q") == [expected]


async def test_a_scan_reads_seventy_messages(account_a):
    account_a.add("Plan", at=-1, body="Joanna")
    for number in range(70):
        account_a.add("Plan", at=number)
    query = MailQuery(text="joan", text_fields=frozenset({"body_preview"}))

    first = await account_a.port.search(query, after=None, projection={"importance"})

    assert (first.emails, first.total, first.total_exact, first.exhausted) == ((), 0, False, False)
    outer = [call["path"] for call in account_a.upstream.calls if call["batch"] is None]
    assert outer == ["/gmail/v1/users/me/messages", *["/batch/gmail/v1"] * 3]
    assert [len(batch) for batch in account_a.batches] == [25, 25, 20]
    assert set(account_a.asked("metadataHeaders")) == {"Importance", "X-Priority"}

    second = await account_a.port.search(query, after=first.scanned_to, projection={"importance"})

    assert [email.importance for email in second.emails] == ["normal"]
    assert (second.total, second.total_exact, second.exhausted) == (1, True, True)


async def test_words_for_previews_only_are_not_sent_to_gmail(account_a):
    query = MailQuery(text="secret", text_fields=frozenset({"body_preview"}))

    await account_a.port.search(query, after=None, projection={"subject"})

    assert account_a.asked("q") == ["-in:drafts"]


async def test_matches_in_hidden_fields_are_not_counted(account_a):
    account_a.add("Hello", files=[("marmalade.pdf", "application/pdf", b"x")])
    query = {"text": "marmalade", "text_fields": TEXT}

    assert await account_a.subjects(**query) == ["Hello"]
    assert await account_a.subjects(**query, text_beyond=False) == []


# -- labels


async def test_labels_are_cached_until_an_unknown_label_appears(account_a):
    account_a.add("One", labels=("Work",))
    for _ in range(3):
        await account_a.port.search(MailQuery(label="work"), after=None, projection=LISTED)

    assert [call["path"] for call in account_a.calls].count("/gmail/v1/users/me/labels") == 1

    account_a.add("Two", at=1, labels=("Brand New",))
    (newest, _) = await account_a.every(MailQuery(), projection={"labels"})
    assert newest.labels == ("INBOX", "Brand New")
    assert [call["path"] for call in account_a.calls].count("/gmail/v1/users/me/labels") == 2


@pytest.mark.parametrize("label", ["UNREAD", "trash", "Spam", "SENT", "draft"])
async def test_system_labels_with_side_effects_cannot_be_added(account_a, label):
    name = account_a.add("Hello", read=True)

    with pytest.raises(Missing):
        await account_a.port.change(name, MailChange(read=False, add_labels=("Work", label)))

    (mail,) = account_a.stored()
    assert (mail.is_read, mail.labels, mail.folder) == (True, (), "inbox")


STATES = ("UNREAD", "TRASH", "SPAM", "DRAFT", "SENT", "CHAT")
INVISIBLE = "\u00ad\u034f\u200b\u200c\u200d\u2060\ufe0f\ufeff\U000e0041"


@cache
def lookalikes():
    """Each small letter -> the characters that fold to it."""
    by_letter = {}
    for char in map(chr, range(0x20000)):
        by_letter.setdefault(search_text.fold_label(char), []).append(char)
    return by_letter


@st.composite
def spellings_of(draw, names):
    """Strings that fold to one of *names*."""
    name = draw(st.sampled_from(names)).lower()
    padding = st.text(INVISIBLE, max_size=2)
    letters = [draw(st.sampled_from(lookalikes()[char])) + draw(padding) for char in name]
    blanks = st.sampled_from(["", " ", "\u3000", "\u00a0 "])
    return draw(blanks) + draw(padding) + "".join(letters) + draw(blanks)


@pytest.mark.slow
@given(spellings_of(STATES))
def test_no_spelling_of_a_state_is_a_label(spelling):
    """
    Whatever spelling of a state is added, it is refused without a call; removing it does nothing.
    """
    calls = []

    class Upstream:
        async def call(self, *segments, **_):
            calls.append(segments)
            raise Missing

    async def change():
        cache = LabelCache()
        with pytest.raises(Missing):
            await cache.ids_to_add(Upstream(), [spelling])
        return await cache.ids_to_remove(Upstream(), [spelling])

    assert search_text.fold_label(spelling).upper() in STATES
    assert asyncio.run(change()) == []
    assert calls == []


@pytest.mark.parametrize(
    ("labels", "created"),
    [
        pytest.param([{"id": "TRASH", "name": "Bin", "type": "user"}], None, id="listed"),
        pytest.param([], {"id": "TRASH", "name": "Bin"}, id="created"),
    ],
)
async def test_a_label_whose_id_is_a_state_is_never_added(labels, created):
    class Upstream:
        async def call(self, method, *_, **__):
            body = {"labels": labels} if method == "GET" else created
            return SimpleNamespace(decode=lambda kind: msgspec.convert(body, kind))

    with pytest.raises((Missing, Broken)):
        await LabelCache().ids_to_add(Upstream(), ["Bin"])
    assert await LabelCache().ids_to_remove(Upstream(), ["Bin"]) == []


@given(spellings_of(("HOMEOFFICE",)))
def test_every_spelling_of_a_label_is_that_label(spelling):
    mail = Email(id="1", provider="PROVIDER_A", labels=("Home\u00adOffice ",))

    assert query_matching.Matcher(MailQuery(label=spelling), text=False)(mail)


@given(spellings_of(("TRASH", "SPAM", "DRAFT")))
def test_every_spelling_of_a_folder_names_it(spelling):
    assert query_matching.folder_label(MailQuery(label=spelling)) in ("TRASH", "SPAM", "DRAFT")


@pytest.mark.parametrize("name", ["INBOX/TRASH", "[Gmail]/Trash", "TRASH/", "Тrash", "trash can"])
async def test_other_names_are_labels(account_a, name):
    """A path, and a letter of another script, is no spelling of a state."""
    mail_id = account_a.add("Hello", read=True)

    await account_a.port.change(mail_id, MailChange(add_labels=(name,)))

    (mail,) = account_a.stored()
    assert (mail.is_read, mail.labels, mail.folder) == (True, (name,), "inbox")


async def test_unread_cannot_be_searched_as_a_label(account_a):
    account_a.add("Hello")

    assert await account_a.subjects(label="unread") == []
    assert await account_a.subjects(label="ＵＮＲＥＡＤ") == []
    assert await account_a.subjects(label="inbox") == ["Hello"]


# -- batches


async def test_a_missing_message_of_a_batch_is_left_out(account_a):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="404", match=names[1])

    assert await account_a.subjects() == ["Mail 2", "Mail 0"]


async def test_throttled_parts_of_a_batch_are_repeated_after_growing_waits(account_a):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="429", match=names[1], count=3)

    assert await account_a.subjects() == ["Mail 2", "Mail 1", "Mail 0"]
    assert account_a.clock.sleeps == [1, 2, 4]
    assert [len(batch) for batch in account_a.batches] == [3, 1, 1, 1]


async def test_a_part_that_stays_throttled_raises_throttled(account_a):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="403", reason="userRateLimitExceeded", match=names[1])

    with pytest.raises(Throttled) as caught:
        await account_a.subjects()

    assert caught.value.retry_after == 8
    assert account_a.clock.sleeps == [1, 2, 4]
    assert [len(batch) for batch in account_a.batches] == [3, 1, 1, 1]


@pytest.mark.parametrize("seconds_left", [1, 2.5])
async def test_throttled_parts_are_not_awaited_beyond_the_deadline(account_a, seconds_left):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="429", match=names[1])
    token = deadline.set(account_a.clock.monotonic() + seconds_left)

    with pytest.raises(Throttled):
        await account_a.subjects()

    deadline.reset(token)
    assert account_a.clock.sleeps == [1] * int(seconds_left > 2)


async def test_a_part_that_fails_otherwise_is_requested_singly(account_a):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="500", match=names[1], count=1)

    assert await account_a.subjects() == ["Mail 2", "Mail 1", "Mail 0"]


@pytest.mark.parametrize("kind", ["malformed", "html"])
async def test_a_malformed_batch_response_is_broken(account_a, kind):
    for number in range(3):
        account_a.add(f"Mail {number}", at=number)
    account_a.fault(kind=kind, match="/batch")

    with pytest.raises(Broken):
        await account_a.subjects()


# -- bodies


async def test_a_large_body_is_read_separately(account_a):
    name = account_a.add("Long", body="word " * 80_000)

    email = await account_a.port.get(name, projection=ALL)

    assert len(email.body.split()) == 80_000
    assert any("/attachments/" in call["path"] for call in account_a.calls)


@pytest.mark.parametrize(
    ("charset", "octets"),
    [
        ("utf-8", "Grüße".encode()),
        ("iso-8859-1", "Grüße".encode("latin-1")),
        ("WINDOWS-1252", "Grüße".encode("cp1252")),
        ("no-such-thing", "Grüße".encode()),
        ("zip", "Grüße".encode()),
    ],
)
async def test_a_body_is_decoded_by_its_charset(account_a, charset, octets):
    head = f"Subject: x\r\nContent-Type: text/plain; charset={charset}\r\n"
    mail = account_a.sandbox.state.mails.add(
        "provider-a",
        head.encode() + b"Content-Transfer-Encoding: 8bit\r\n\r\n" + octets,
        folder="inbox",
    )

    email = await account_a.port.get(mail.id, projection=ALL)

    assert (email.body, email.body_type) == ("Grüße", "text")


async def test_attachments_are_identified_by_their_message_and_part_id(account_a):
    name = account_a.add("Hello", files=[("a.txt", "text/plain", b"one"), ("b", "a/b", b"two")])

    first = (await account_a.port.get(name, projection=ALL)).attachments
    second = (await account_a.port.get(name, projection=ALL)).attachments

    assert first == second
    assert [(file.id, file.name, file.size) for file in first] == [
        (f"{name}.1", "a.txt", 3),
        (f"{name}.2", "b", 3),
    ]


# -- sending


def draft(**changes):
    attempt = SendAttempt(message_id="a@gw.example")
    return Draft(**({"to": (BOB,), "subject": "Plan", "body": "x", "attempt": attempt} | changes))


def calls(account):
    """The calls, method and path below the user; the id of a draft as ID."""
    paths = [(call["method"], call["path"].rpartition("/me")[2]) for call in account.calls]
    return [(method, re.sub("/r[0-9]+$", "/ID", path)) for method, path in paths]


async def test_sending_returns_the_ids_of_the_message(account_a):
    sent = await account_a.port.send(draft())

    (mail,) = account_a.stored()
    assert (sent.email_id, sent.thread_id) == (mail.id, mail.thread_id)


async def test_a_message_is_sent_as_a_draft_that_is_sent_once(account_a):
    await account_a.port.send(draft())

    (mail,) = account_a.stored()
    assert mail.folder == "sent"
    assert b"a@gw.example" not in mail.raw
    assert calls(account_a) == [("POST", "/drafts"), ("POST", "/drafts/send")]


async def test_a_send_without_an_answer_is_settled_by_the_draft(account_a):
    account_a.fault(kind="lostAnswer", count=1, match="send", method="POST")

    sent = await account_a.port.send(draft())

    assert sent == SentMessage()
    assert len(account_a.stored(folder="sent")) == 1
    assert calls(account_a)[2:] == [("GET", "/drafts/ID")]


async def test_a_message_that_gmail_sent_and_called_a_failure_is_not_sent_again(account_a):
    account_a.fault(kind="spoiltAnswer", count=1, match="send", method="POST")
    account_a.fault(kind="500", count=1, match="/drafts/r", method="GET")

    assert await account_a.port.send(draft()) == SentMessage()
    assert len(account_a.stored(folder="sent")) == 1


async def test_an_unsent_draft_is_deleted_as_a_proof(account_a, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_a.fault(kind="500", match="send", method="POST")

    with pytest.raises(Broken):
        await account_a.port.send(draft())

    assert calls(account_a)[2:] == [
        ("GET", "/drafts/ID"),
        ("GET", "/drafts/ID"),
        ("DELETE", "/drafts/ID"),
    ]
    assert account_a.stored() == []


async def test_a_send_is_of_unknown_outcome_without_that_proof(account_a, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_a.fault(kind="500", match="send", method="POST")
    account_a.fault(kind="reset", method="DELETE")

    with pytest.raises(OutcomeUnknown):
        await account_a.port.send(draft())


async def test_a_draft_that_is_gone_when_it_is_deleted_was_sent(account_a, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_a.fault(kind="lostAnswer", count=1, match="send", method="POST")
    account_a.fault(kind="503", method="GET")

    assert await account_a.port.send(draft()) == SentMessage()
    assert len(account_a.stored(folder="sent")) == 1


async def test_a_draft_that_is_gone_when_it_is_sent_was_sent(account_a):
    async def store(draft_id):
        mails = account_a.sandbox.state.mails
        mails.delete("provider-a", account_a.stored()[0].id)

    attempt = SendAttempt(message_id="a@gw.example", store_draft=store)

    assert await account_a.port.send(draft(attempt=attempt)) == SentMessage()
    assert calls(account_a) == [("POST", "/drafts"), ("POST", "/drafts/send")]


async def test_a_large_message_is_sent_to_the_upload_endpoint(account_a):
    await account_a.port.send(draft(body="word " * 700_000))

    assert [call["path"] for call in account_a.calls] == [
        "/upload/gmail/v1/users/me/drafts",
        "/gmail/v1/users/me/drafts/send",
    ]
    assert len(account_a.stored(folder="sent")) == 1


async def test_an_attached_message_is_forwarded_as_a_message(account_a):
    inner = raw("Inner", body="Inside.")
    name = account_a.add("Outer")
    boxed = (
        b"From: ann@north.example\r\nSubject: Outer\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nSee below.\r\n'
        b"--b\r\nContent-Type: message/rfc822\r\n\r\n" + inner + b"\r\n--b--\r\n"
    )
    account_a.sandbox.state.mails.update("provider-a", name, raw=boxed)

    await account_a.port.forward(
        name, Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
    )

    (mail,) = account_a.stored(folder="sent")
    parts = message_from_bytes(mail.raw).get_payload()
    assert [part.get_content_type() for part in parts] == ["text/plain", "message/rfc822"]
    assert parts[1].get_payload(0)["Subject"] == "Inner"


async def test_headers_of_raw_messages_are_decoded_when_forwarded(account_a):
    name = account_a.add("Outer")
    written = (
        "From: Åsa <asa@north.example>\r\nSubject: Semlor på fredag\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nSee below.\r\n'
        "--b\r\nContent-Type: text/plain\r\n"
        'Content-Disposition: attachment; filename="räksmörgås.txt"\r\n\r\nx\r\n--b--\r\n'
    )
    account_a.sandbox.state.mails.update("provider-a", name, raw=written.encode())

    sent = await account_a.port.forward(
        name, Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
    )

    email = await account_a.port.get(sent.email_id, projection=ALL)
    assert email.subject == "Fwd: Semlor på fredag"
    assert "From: Åsa <asa@north.example>" in email.body
    assert [attachment.name for attachment in email.attachments] == ["räksmörgås.txt"]


@pytest.mark.parametrize("date", ["", "soon", "-1", "9" * 20, "1" * 5000])
def test_an_invalid_received_time_is_the_epoch(date):
    message = Message(id="1", internal_date=date)

    assert (message.received_ms, message.received_at) == (0, EPOCH)


async def test_a_message_that_is_nested_too_deeply_is_not_forwarded(account_a):
    name = account_a.add("Deep")
    box = "Content-Type: multipart/mixed; boundary=b{0}x\r\n\r\n--b{0}x\r\n"
    boxes = "".join(map(box.format, range(2000))).encode()
    account_a.sandbox.state.mails.update("provider-a", name, raw=b"Subject: Deep\r\n" + boxes)

    with pytest.raises(Broken):
        await account_a.port.forward(
            name, Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
        )

    assert account_a.stored(folder="sent") == []


LETTERS = {
    "half a character in a body": (
        b"Content-Type: text/plain; charset=utf-7\r\n\r\n+2AA-",
        "\ufffd",
    ),
    "escapes of a language": (
        b"Content-Type: text/plain; charset=unicode_escape\r\n\r\n\\ud800",
        "\\ud800",
    ),
    "a charset of addresses": (
        b"Content-Type: text/plain; charset=punycode\r\n\r\nbcher-kva",
        "bcher-kva",
    ),
    "a charset nobody knows": (b"Content-Type: text/plain; charset=x-none\r\n\r\nx", "x"),
}


@pytest.mark.parametrize(("rest", "text"), LETTERS.values(), ids=LETTERS.keys())
async def test_a_decoded_body_can_always_be_encoded_as_utf8(account_a, rest, text):
    name = account_a.add("Odd")
    head = b"From: eve@north.example\r\nSubject: =?utf-7?Q?+2AA-?=\r\nMIME-Version: 1.0\r\n"
    account_a.sandbox.state.mails.update("provider-a", name, raw=head + rest)

    (email,) = await account_a.every(MailQuery(), projection=ALL)
    sent = await account_a.port.forward(
        name, Forward(to=(BOB,), attempt=SendAttempt(message_id="f@gw.example"))
    )
    passed_on = await account_a.port.get(sent.email_id, projection=ALL)

    assert (email.subject, email.body) == ("\ufffd", text)
    assert passed_on.subject == "Fwd: \ufffd"
    assert passed_on.body.endswith(text)


async def test_deeply_nested_parts_are_found(account_a):
    lines = [b"Subject: Deep"]
    for level in range(12):
        lines += [b'Content-Type: multipart/mixed; boundary="b%d"' % level, b"", b"--b%d" % level]
    lines += [b"Content-Type: text/html", b"", b"<p>Down here.</p>", b"--b11"]
    lines += [b'Content-Disposition: attachment; filename="a.txt"', b"", b"x", b"--b11--"]
    mail = account_a.sandbox.state.mails.add(
        "provider-a", b"\r\n".join(lines) + b"\r\n", folder="inbox"
    )

    email = await account_a.port.get(mail.id, projection=ALL)

    assert email.body.strip() == "<p>Down here.</p>"
    assert [attachment.name for attachment in email.attachments] == ["a.txt"]
    assert len(account_a.calls) == 3  # the message, deeper, and the labels


# -- what Gmail is reported to send


def reported(**members):
    """A message as Gmail sends it; *members* replace those of its payload."""
    payload = {
        "partId": "",
        "mimeType": "text/plain",
        "filename": "",
        "headers": [{"name": "Subject", "value": "s"}],
        **members,
    }
    message = {"id": "a1", "threadId": "a1", "labelIds": ["INBOX"], "payload": payload}
    return msgspec.convert(message, Message)


async def read_reported(message):
    parsed = ParsedMessage(message, arrange(message.payload))
    (email,) = await mapping.emails([parsed], ALL, labels={}, bodies={})
    return email


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("iso-2022-jp", "水野様 会議の件"),
        ("windows-1252", "Grüße für €5 – “ja”"),
        ("iso-8859-8-i", "בוקר טוב"),
        ("gb2312", "你好，世界"),
        ("utf-16", "Zażółć"),
    ],
)
async def test_a_text_in_utf8_is_read_whatever_its_header_says(label, text):
    data = base64.urlsafe_b64encode(text.encode()).decode()
    header = {"name": "Content-Type", "value": f"text/plain; charset={label}"}
    message = reported(headers=[header], body={"size": len(text.encode()), "data": data})

    assert (await read_reported(message)).body == text


async def test_a_word_that_gmail_left_in_a_subject_is_text():
    literal = "decoded words are not encoded words: =?utf-8?Q?literal?="
    message = reported(headers=[{"name": "Subject", "value": literal}])

    assert (await read_reported(message)).subject == literal


def test_lines_of_a_chat_are_no_mail():
    mail, chat = (
        msgspec.convert({"id": name, "labelIds": [label]}, Message)
        for name, label in (("a1", "INBOX"), ("a6", "CHAT"))
    )

    assert reading._visible([mail, chat], None) == [mail]
    assert reading._visible([mail, chat], "CHAT") == []
