"""The Gmail connector: its requests, and unusual responses."""

import re
from email import message_from_bytes

import pytest
from mail_upstreams import ALL, LISTED, TEXT, raw

from providers.connectors.provider_a.gmail.response_types import Message
from providers.failures import Broken, Missing, OutcomeUnknown, Throttled
from providers.mail import delivery
from providers.ports.mail import Draft, Forward, MailChange, MailQuery, Reply
from providers.records.base import EPOCH
from providers.records.mail import Participant

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
    await account_a.port.search(MailQuery(), after=None, wanted=LISTED)  # learns the labels
    account_a.forget_calls()

    await account_a.port.search(MailQuery(limit=20), after=None, wanted=LISTED)

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
        await account_a.port.search(query, after=None, wanted=LISTED)
    await account_a.port.get(name, wanted=LISTED)
    await account_a.port.thread(thread, wanted=LISTED)
    await account_a.port.reply(name, Reply(body="Fine.", quote=False, message_id="r@gw.example"))
    await account_a.port.change(name, MailChange(read=True, add_labels=("New",)))
    await account_a.port.trash(name)

    assert without_bodies(account_a)


async def test_a_wanted_body_is_requested_level_by_level(account_a):
    name = account_a.add("The lease")

    await account_a.port.get(name, wanted=ALL)

    (mask,) = account_a.asked("fields")
    assert mask.count("data") == 7  # the root and six levels below it
    assert not BARE_PARTS.search(mask)


@pytest.mark.parametrize(
    ("wanted", "form", "headers"),
    [
        ({"id", "is_read", "labels"}, "minimal", []),
        ({"body_preview"}, "minimal", []),
        ({"subject", "from_"}, "metadata", ["Subject", "From"]),
        ({"importance"}, "metadata", ["Importance", "X-Priority"]),
        ({"has_attachments"}, "full", []),
    ],
    ids=["ids", "preview", "headers", "importance", "structure"],
)
async def test_the_cheapest_format_is_requested(account_a, wanted, form, headers):
    name = account_a.add("The lease")

    await account_a.port.get(name, wanted=frozenset(wanted))

    call = account_a.calls[0]
    assert call["query"]["format"] == [form]
    assert call["query"].get("metadataHeaders", []) == headers
    assert ("snippet" in call["query"]["fields"][0]) is ("body_preview" in wanted)


async def test_root_headers_are_not_requested_when_only_the_structure_is_wanted(account_a):
    name = account_a.add("The lease")

    await account_a.port.get(name, wanted=frozenset({"has_attachments"}))

    assert account_a.asked("fields")[0].startswith(
        "id,threadId,labelIds,internalDate,payload(mimeType,filename,parts("
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, "-in:drafts"),
        ({"text": "lease plan"}, "lease plan -in:drafts"),
        ({"text": '"the plan" OR -x'}, '"the plan" or x -in:drafts'),
        ({"text": "from:a {b}"}, '"from a" b -in:drafts'),
        ({"sender": "a@b.example"}, "from:a@b.example -in:drafts"),
        ({"sender": '"x" OR in:trash@b.example'}, "-in:drafts"),
        ({"sender": "a}{b@c.example"}, 'from:"a}{b@c.example" -in:drafts'),
        ({"recipient": "@b.example"}, '{to:"b.example" cc:"b.example"} -in:drafts'),
        ({"subject": "ase for the pla"}, "subject:for subject:the -in:drafts"),
        ({"unread": True, "has_attachment": True}, "is:unread has:attachment -in:drafts"),
        ({"has_attachment": False}, "-in:drafts"),
    ],
)
async def test_values_in_a_search_query_are_quoted(account_a, query, expected):
    fields = TEXT if "text" in query else frozenset()

    await account_a.port.search(
        MailQuery(text_fields=fields, **query), after=None, wanted={"subject"}
    )

    assert account_a.asked("q") == [expected]


@pytest.mark.parametrize(
    ("text", "fields", "expected"),
    [
        ("plan", {"subject"}, "subject:plan -in:drafts"),
        ("plan", {"subject", "from_"}, "-in:drafts"),
        ("a@b.example", {"from_"}, 'from:"a b" -in:drafts'),
        ('"the plan" x', {"subject", "cc"}, "{subject:the cc:the} -in:drafts"),
        ('"件名 the plan"', {"from_"}, "-in:drafts"),
    ],
    ids=["prose", "a beginning", "an address", "a phrase and a beginning", "without blanks"],
)
async def test_searches_for_people_send_whole_words_only(account_a, text, fields, expected):
    query = MailQuery(text=text, text_fields=frozenset(fields))

    await account_a.port.search(query, after=None, wanted={"subject"})

    assert account_a.asked("q") == [expected]


async def test_a_scan_lists_five_hundred_ids_per_call(account_a):
    account_a.add("Plan", at=-1, author="Joanna <j@north.example>")
    for number in range(620):
        account_a.add("Plan", at=number)
    query = MailQuery(text="joan", text_fields=frozenset({"from_"}))

    first = await account_a.port.search(query, after=None, wanted={"importance"})

    assert (first.emails, first.total, first.total_exact, first.exhausted) == ((), 0, False, False)
    outer = [call["path"] for call in account_a.upstream.calls if call["batch"] is None]
    assert outer == ["/gmail/v1/users/me/messages", *["/batch/gmail/v1"] * 10]
    assert set(account_a.asked("metadataHeaders")) == {"From", "Importance", "X-Priority"}

    second = await account_a.port.search(query, after=first.scanned_to, wanted={"importance"})

    assert [email.importance for email in second.emails] == ["normal"]
    assert (second.total, second.total_exact, second.exhausted) == (1, True, True)


async def test_words_for_previews_only_are_not_sent_to_gmail(account_a):
    query = MailQuery(text="secret", text_fields=frozenset({"body_preview"}))

    await account_a.port.search(query, after=None, wanted={"subject"})

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
        await account_a.port.search(MailQuery(label="work"), after=None, wanted=LISTED)

    assert [call["path"] for call in account_a.calls].count("/gmail/v1/users/me/labels") == 1

    account_a.add("Two", at=1, labels=("Brand New",))
    (newest, _) = await account_a.every(MailQuery(), wanted={"labels"})
    assert newest.labels == ("INBOX", "Brand New")
    assert [call["path"] for call in account_a.calls].count("/gmail/v1/users/me/labels") == 2


@pytest.mark.parametrize("label", ["UNREAD", "trash", "Spam", "SENT", "draft"])
async def test_system_labels_with_side_effects_cannot_be_added(account_a, label):
    name = account_a.add("Hello", read=True)

    with pytest.raises(Missing):
        await account_a.port.change(name, MailChange(read=False, add_labels=("Work", label)))

    (mail,) = account_a.stored()
    assert (mail.is_read, mail.labels, mail.folder) == (True, (), "inbox")


async def test_unread_cannot_be_searched_as_a_label(account_a):
    account_a.add("Hello")

    assert await account_a.subjects(label="unread") == []
    assert await account_a.subjects(label="inbox") == ["Hello"]


# -- batches


async def test_a_missing_message_of_a_batch_is_left_out(account_a):
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="404", match=names[1])

    assert await account_a.subjects() == ["Mail 2", "Mail 0"]


async def test_a_throttled_part_of_a_batch_is_retried_once(account_a, monkeypatch):
    monkeypatch.setattr("providers.batches._PAUSE", 0)
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="429", match=names[1], count=1)

    assert await account_a.subjects() == ["Mail 2", "Mail 1", "Mail 0"]


async def test_a_part_that_stays_throttled_raises_throttled(account_a, monkeypatch):
    monkeypatch.setattr("providers.batches._PAUSE", 0)
    names = [account_a.add(f"Mail {number}", at=number) for number in range(3)]
    account_a.fault(kind="403", reason="userRateLimitExceeded", match=names[1])

    with pytest.raises(Throttled):
        await account_a.subjects()


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

    email = await account_a.port.get(name, wanted=ALL)

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

    email = await account_a.port.get(mail.id, wanted=ALL)

    assert (email.body, email.body_type) == ("Grüße", "text")


async def test_attachments_are_identified_by_their_part_id(account_a):
    name = account_a.add("Hello", files=[("a.txt", "text/plain", b"one"), ("b", "a/b", b"two")])

    first = (await account_a.port.get(name, wanted=ALL)).attachments
    second = (await account_a.port.get(name, wanted=ALL)).attachments

    assert first == second
    assert [(file.id, file.name, file.size) for file in first] == [("1", "a.txt", 3), ("2", "b", 3)]


# -- sending


async def test_sending_returns_the_ids_of_the_message(account_a):
    sent = await account_a.port.send(
        Draft(to=(BOB,), subject="Plan", body="x", message_id="a@gw.example")
    )

    (mail,) = account_a.stored()
    assert (sent.email_id, sent.thread_id) == (mail.id, mail.thread_id)


async def test_a_lost_response_is_recovered_by_looking_up_the_message(account_a):
    draft = Draft(to=(BOB,), subject="Plan", body="x", message_id="a@gw.example", maybe_sent=True)
    account_a.fault(kind="lostAnswer", count=1, match="send", method="POST")

    first = await account_a.port.send(draft)
    second = await account_a.port.send(draft)

    (mail,) = account_a.stored()
    assert first == second
    assert first.email_id == mail.id


async def test_an_outcome_that_cannot_be_looked_up_is_unknown(account_a, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_a.fault(kind="reset", match="send", method="POST")

    with pytest.raises(OutcomeUnknown):
        await account_a.port.send(
            Draft(to=(BOB,), subject="Plan", body="x", message_id="a@gw.example")
        )

    lookups = [call for call in account_a.calls if "rfc822msgid:a@gw.example" in str(call["query"])]
    assert len(lookups) == 2


async def test_a_failed_send_that_is_not_found_was_not_sent(account_a, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_a.fault(kind="500", match="send", method="POST")

    with pytest.raises(Broken):
        await account_a.port.send(
            Draft(to=(BOB,), subject="Plan", body="x", message_id="a@gw.example")
        )


async def test_a_large_message_is_sent_to_the_upload_endpoint(account_a):
    await account_a.port.send(
        Draft(to=(BOB,), subject="Plan", body="word " * 700_000, message_id="a@gw.example")
    )

    assert [call["path"] for call in account_a.calls] == ["/upload/gmail/v1/users/me/messages/send"]
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

    await account_a.port.forward(name, Forward(to=(BOB,), message_id="f@gw.example"))

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

    sent = await account_a.port.forward(name, Forward(to=(BOB,), message_id="f@gw.example"))

    email = await account_a.port.get(sent.email_id, wanted=ALL)
    assert email.subject == "Fwd: Semlor på fredag"
    assert "From: Åsa <asa@north.example>" in email.body
    assert [attachment.name for attachment in email.attachments] == ["räksmörgås.txt"]


@pytest.mark.parametrize("date", ["", "soon", "-1", "9" * 20, "1" * 5000])
def test_an_invalid_received_time_is_the_epoch(date):
    message = Message(id="1", internal_date=date)

    assert (message.received_ms, message.received_at) == (0, EPOCH)


async def test_a_message_that_is_nested_too_deeply_is_not_forwarded(account_a):
    name = account_a.add("Deep")
    boxes = b"".join(b"Content-Type: message/rfc822\r\n\r\n" for _ in range(2000))
    account_a.sandbox.state.mails.update("provider-a", name, raw=b"Subject: Deep\r\n" + boxes)

    with pytest.raises(Broken):
        await account_a.port.forward(name, Forward(to=(BOB,), message_id="f@gw.example"))

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

    (email,) = await account_a.every(MailQuery(), wanted=ALL)
    sent = await account_a.port.forward(name, Forward(to=(BOB,), message_id="f@gw.example"))
    passed_on = await account_a.port.get(sent.email_id, wanted=ALL)

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

    email = await account_a.port.get(mail.id, wanted=ALL)

    assert email.body.strip() == "<p>Down here.</p>"
    assert [attachment.name for attachment in email.attachments] == ["a.txt"]
    assert len(account_a.calls) == 3  # the message, deeper, and the labels
