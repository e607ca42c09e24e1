"""The Outlook mail connector: its requests, and unusual responses."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from mail_upstreams import ALL, LISTED, NOON, TEXT
from msgspec.structs import replace

from providers.connectors.provider_b.outlook_mail import (
    mapping,
    reading,
    response_types,
    selected_fields,
)
from providers.failures import Broken, Missing, OutcomeUnknown, Throttled, Unreachable
from providers.http.response import Response
from providers.mail import delivery, scanning
from providers.ports.mail import Draft, MailChange, MailQuery, Reply, SendAttempt
from providers.records.base import EPOCH, to_epoch_ms
from providers.records.mail import Attachment, Participant

NOON_OF_PAGE = datetime(2026, 11, 20, 12, tzinfo=UTC)
BOB = Participant(email="bob@south.example")
WAYS = {"the mailbox": {}, "the index": {"text": "words", "text_fields": TEXT}}
DRAFT = Draft(to=(BOB,), subject="Plan", body="x", attempt=SendAttempt(message_id="a@gw.example"))
REPLY = Reply(body="Fine.", attempt=SendAttempt(message_id="r@gw.example"))
WITH_BODY = frozenset({"subject", "body"})  # a search reads bodies by batches


def filled(account, count=3):
    return [account.add(f"Mail {number}", at=number) for number in range(count)]


# -- requests


async def test_a_page_takes_one_call(account_b):
    filled(account_b, 30)
    await account_b.port.search(MailQuery(), after=None, projection=LISTED)  # learns the folders
    account_b.forget_calls()

    await account_b.port.search(MailQuery(limit=20), after=None, projection=LISTED)

    assert [(call["method"], call["path"]) for call in account_b.calls] == [
        ("GET", "/v1.0/me/messages")
    ]
    assert account_b.asked("$top") == ["22"]


async def test_a_search_takes_one_call_and_batches_of_twenty(account_b):
    filled(account_b, 60)
    await account_b.port.search(MailQuery(), after=None, projection=LISTED)
    account_b.forget_calls()

    answer = await account_b.port.search(
        MailQuery(limit=50, text="words", text_fields=TEXT), after=None, projection=LISTED
    )

    outer = [call["path"] for call in account_b.calls if call["batch"] is None]
    assert outer == ["/v1.0/me/messages", *["/v1.0/$batch"] * 3]
    assert len(account_b.calls) - len(outer) == 50
    assert (len(answer.emails), answer.total, answer.total_exact) == (50, 60, True)


async def test_every_call_prefers_immutable_ids_and_html(account_b):
    name = account_b.add("Plan", labels=("Work",))
    filled(account_b)
    thread = account_b.stored("Plan")[0].thread_id
    for query in (MailQuery(), MailQuery(text="words", text_fields=TEXT), MailQuery(label="work")):
        await account_b.port.search(query, after=None, projection=LISTED)
    await account_b.port.get(name, projection=ALL)
    await account_b.port.thread(thread, projection=ALL)
    await account_b.port.reply(name, REPLY)
    await account_b.port.change(name, MailChange(read=True, add_labels=("New",)))
    await account_b.port.trash(name)

    calls = [call for call in account_b.calls if call["path"] != "/v1.0/$batch"]
    assert len(calls) > 10
    assert {call["headers"].get("prefer") for call in calls} == {
        'IdType="ImmutableId", outlook.body-content-type="html"'
    }


async def test_no_call_selects_an_unwanted_body(account_b):
    name = account_b.add("Plan", labels=("Work",))
    thread = account_b.stored()[0].thread_id
    for query in (
        MailQuery(),
        MailQuery(subject="la"),
        MailQuery(recipient="example"),
        MailQuery(text="words", text_fields=TEXT),
        MailQuery(text="words", text_fields=TEXT - {"body"}),
        MailQuery(label="work"),
    ):
        await account_b.port.search(query, after=None, projection=LISTED)
    await account_b.port.get(name, projection=LISTED)
    await account_b.port.thread(thread, projection=LISTED)
    await account_b.port.change(name, MailChange(read=True, add_labels=("New",)))

    selects = account_b.asked("$select")
    reads = [call for call in account_b.calls if call["method"] == "GET"]
    assert all("$select" in call["query"] for call in reads)
    assert [
        select for select in selects if "body" in select.replace("bodyPreview", "").split(",")
    ] == []


async def test_only_wanted_attributes_are_selected(account_b):
    name = account_b.add("Plan")

    await account_b.port.get(name, projection=frozenset({"subject", "from_"}))
    await account_b.port.get(name, projection=frozenset({"attachments"}))

    assert account_b.asked("$select") == [
        "id,receivedDateTime,isDraft,parentFolderId,subject,from,sender",
        "id,receivedDateTime,isDraft,parentFolderId",
    ]
    assert account_b.asked("$expand") == ["attachments($select=id,name,contentType,size,isInline)"]


@pytest.mark.parametrize(
    ("query", "clause"),
    [
        ({"sender": "o'neil@b.example"}, "from/emailAddress/address eq 'o''neil@b.example'"),
        ({"label": " it's  a') "}, "categories/any(c:c eq 'it''s a'')')"),
        ({"unread": True}, "isRead eq false"),
        ({"has_attachment": False}, "hasAttachments eq false"),
        ({"after": NOON}, "receivedDateTime ge 2026-03-02T12:00:00Z"),
        ({"before": NOON}, "receivedDateTime lt 2026-03-02T12:00:01Z"),
    ],
)
async def test_values_in_a_filter_are_quoted(account_b, query, clause):
    await account_b.port.search(MailQuery(**query), after=None, projection={"subject"})

    (clauses,) = account_b.asked("$filter")
    assert clause in clauses
    assert clauses.startswith("receivedDateTime ge ")
    assert "isDraft eq false and parentFolderId ne 'AA" in clauses


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"text": "plan", "text_fields": {"subject"}}, '"(subject:plan*)"'),
        ({"text": "plan", "text_fields": {"subject", "body"}}, '"(subject:plan* OR body:plan*)"'),
        (
            {"text": '"a plan" OR from:x', "text_fields": {"subject"}},
            '"(subject:\\"a plan\\") AND (subject:or*) AND (subject:\\"from x\\")"',
        ),
        ({"subject": 'the "pla" OR'}, '"subject:\\"the pla or*\\""'),
        ({"subject": "OR"}, '"subject:or*"'),
        ({"subject": "jam 🎉 toast"}, '"subject:jam* AND subject:toast*"'),
        (
            {"participant": "a@b.example"},
            r'"(from:\"a@b.example\" OR to:\"a@b.example\" OR cc:\"a@b.example\")"',
        ),
        (
            {"participant": "a@b.example, c@b.example", "recipient_in_cc": False},
            r'"(from:\"a@b.example\" OR to:\"a@b.example\"'
            r' OR from:\"c@b.example\" OR to:\"c@b.example\")"',
        ),
        ({"sender": "Ana Mü"}, '"(from:\\"ana mü*\\")"'),
        ({"sender": "@b.example", "unread": True}, '"(from:\\"b.example\\")"'),
        ({"recipient": "zoe", "recipient_in_cc": False}, '"(to:zoe*)"'),
        ({"recipient": "a@b.example"}, '"(to:\\"a@b.example\\" OR cc:\\"a@b.example\\")"'),
        (
            {"recipient": 'a")OR(x@b.example'},
            '"(to:\\"a )OR(x@b.example\\" OR cc:\\"a )OR(x@b.example\\")"',
        ),
        (
            {"recipient": "a@b.example", "after": NOON, "before": NOON},
            '"(to:\\"a@b.example\\" OR cc:\\"a@b.example\\")'
            ' AND received>=2026-03-01 AND received<=2026-03-03"',
        ),
    ],
)
async def test_values_in_a_search_are_quoted(account_b, query, expected):
    await account_b.port.search(MailQuery(**query), after=None, projection={"subject"})

    assert account_b.asked("$search") == [expected]


async def test_words_for_previews_only_are_not_sent_to_graph(account_b):
    query = MailQuery(text="secret", text_fields=frozenset({"body_preview", "subject"}))

    await account_b.port.search(query, after=None, projection={"subject"})

    assert account_b.asked("$search") == []
    assert "secret" not in str(account_b.upstream.calls)


@pytest.mark.parametrize("kind", ["504", "slow"])
async def test_a_count_that_takes_too_long_is_given_up(account_b, kind, monkeypatch):
    filled(account_b, 30)
    monkeypatch.setattr(reading, "COUNT_SECONDS", 0.3)
    account_b.fault(kind=kind, match="$count", delay=5)

    first = await account_b.port.search(MailQuery(limit=20), after=None, projection={"subject"})
    position = scanning.position(first.emails[-1])
    second = await account_b.port.search(
        MailQuery(limit=20), after=position, projection={"subject"}
    )
    again = await account_b.port.search(MailQuery(limit=20), after=None, projection={"subject"})

    assert [len(page.emails) for page in (first, second, again)] == [20, 10, 20]
    assert [page.exhausted for page in (first, second, again)] == [False, True, False]
    assert [page.total_exact for page in (first, second, again)] == [False, True, False]
    assert (first.total, second.total, again.total) == (21, 10, 21)
    assert account_b.asked("$count") == ["true"]


async def test_only_the_first_page_is_counted(account_b):
    filled(account_b, 30)

    answer = await account_b.port.search(MailQuery(limit=20), after=None, projection={"subject"})
    position = scanning.position(answer.emails[-1])
    await account_b.port.search(MailQuery(limit=20), after=position, projection={"subject"})

    assert (answer.total, answer.total_exact) == (30, True)
    assert account_b.asked("$count") == ["true"]


@pytest.mark.slow
async def test_a_mail_that_was_long_under_way_is_put_in_order(account_b):
    """The search sorts by the sent time, the listing by the received time."""
    for number in range(300):
        account_b.add(f"Unity {number}", at=number, sent=NOON + timedelta(seconds=number))
    account_b.add("Unity, late", at=290.5, sent=NOON - timedelta(hours=9))

    emails = await account_b.every(
        MailQuery(subject="unity", limit=50), projection=frozenset({"subject"})
    )

    subjects = [email.subject for email in emails]
    assert len(subjects) == 301
    assert subjects[8:11] == ["Unity 291", "Unity, late", "Unity 290"]


async def test_a_long_search_finds_what_was_long_under_way(account_b):
    """Graph sorts it behind all that was sent later, on a page that is never read."""
    for number in range(260):
        account_b.add(f"Plan {number}", at=number * 3600, sent=NOON + timedelta(hours=number))
    old = NOON - timedelta(days=9000)
    account_b.add("Plan of the archive", at=220.5 * 3600, sent=old)
    account_b.upstream.calls.clear()

    emails = await account_b.every(account_b.query(subject="plan"), projection={"subject"})

    subjects = [f"Plan {number}" for number in range(259, -1, -1)]
    subjects.insert(259 - 220, "Plan of the archive")
    assert [email.subject for email in emails] == subjects
    assert sum("sent<=" in str(call) for call in account_b.upstream.calls) == 2


async def test_folders_are_read_once(account_b):
    for _ in range(3):
        await account_b.subjects()

    paths = [call["path"] for call in account_b.calls if "mailFolders" in call["path"]]
    assert paths == ["/v1.0/me/mailFolders/deleteditems", "/v1.0/me/mailFolders/junkemail"]


async def test_words_match_by_prefix(account_b):
    account_b.add("The lease")

    assert await account_b.subjects(text="leas", text_fields=TEXT) == ["The lease"]


# -- odd answers


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_a_next_link_to_another_place_is_not_followed(account_b, way):
    filled(account_b)
    await account_b.port.thread(account_b.stored()[0].thread_id, projection={"subject"})
    account_b.fault(kind="foreignNextLink", match="messages?")

    with pytest.raises(Broken):
        await account_b.every(MailQuery(limit=50, **way), projection={"subject"})


async def test_a_repeated_next_link_is_broken(account_b):
    filled(account_b)
    account_b.fault(kind="repeatedNextLink", match="messages?")

    with pytest.raises(Broken):
        await account_b.port.thread(account_b.stored()[0].thread_id, projection={"subject"})


async def test_a_filter_that_is_too_complex_is_simplified(account_b):
    account_b.add("Mine", author="ann@north.example", at=1)
    account_b.add("Read", author="ann@north.example", at=2, read=True)
    account_b.add("Gone", author="ann@north.example", at=3, folder="trash")
    account_b.add("Begun", author="ann@north.example", at=4, folder="drafts")
    account_b.fault(kind="400", reason="InefficientFilter", match="isDraft eq")

    subjects = await account_b.subjects(sender="ann@north.example", unread=True)

    assert subjects == ["Mine"]
    assert account_b.asked("$filter")[-1] == (
        "receivedDateTime ge 1900-01-01T00:00:00Z"
        " and from/emailAddress/address eq 'ann@north.example'"
    )


async def test_a_missing_message_of_a_batch_is_left_out(account_b):
    names = filled(account_b)
    account_b.fault(kind="404", match=names[1])

    subjects = await account_b.subjects(projection=WITH_BODY, text="words", text_fields=TEXT)

    assert subjects == ["Mail 2", "Mail 0"]


async def test_throttled_parts_of_a_batch_are_repeated_after_growing_waits(account_b):
    names = filled(account_b)
    account_b.fault(kind="429", match=names[1], count=3)

    subjects = await account_b.subjects(projection=WITH_BODY, text="words", text_fields=TEXT)

    assert subjects == ["Mail 2", "Mail 1", "Mail 0"]
    assert account_b.clock.sleeps == [1, 2, 4]
    assert [len(batch) for batch in account_b.batches] == [3, 1, 1, 1]


async def test_a_part_that_stays_throttled_raises_throttled_with_its_waiting_time(account_b):
    names = filled(account_b)
    account_b.fault(kind="429", retryAfter=11, match=names[1])

    with pytest.raises(Throttled) as caught:
        await account_b.subjects(projection=WITH_BODY, text="words", text_fields=TEXT)

    assert caught.value.retry_after == 11
    assert account_b.clock.sleeps == []


# -- labels


async def test_labels_are_replaced_only_if_unchanged_since_the_read(account_b):
    name = account_b.add("Plan", labels=("Work",))
    account_b.fault(kind="412", method="PATCH", count=1)

    await account_b.port.change(name, MailChange(add_labels=("New", "WORK")))

    assert account_b.stored()[0].labels == ("Work", "New")
    patches = [call for call in account_b.calls if call["method"] == "PATCH"]
    assert len(patches) == 2
    assert all(call["headers"]["if-match"].startswith('W/"') for call in patches)


async def test_labels_that_keep_changing_are_not_replaced(account_b):
    name = account_b.add("Plan", labels=("Work",))
    account_b.fault(kind="412", method="PATCH")

    with pytest.raises(Missing):
        await account_b.port.change(name, MailChange(add_labels=("New",)))

    assert account_b.stored()[0].labels == ("Work",)


async def test_a_message_keeps_its_id_in_the_trash(account_b):
    name = account_b.add("Plan")

    await account_b.port.trash(name)

    assert [
        email.id for email in await account_b.every(MailQuery(label="trash"), projection=LISTED)
    ] == [name]


# -- sending


async def test_a_message_is_sent_as_a_draft(account_b):
    sent = await account_b.port.send(DRAFT)

    assert (sent.email_id, sent.thread_id) == (None, None)
    assert [(call["method"], call["path"].rpartition("/")[2]) for call in account_b.calls] == [
        ("POST", "messages"),
        ("POST", "send"),
    ]


async def test_a_draft_whose_response_was_lost_is_still_sent(account_b):
    account_b.fault(kind="lostAnswer", count=1, match="/messages", method="POST")

    await account_b.port.send(DRAFT)

    assert [mail.folder for mail in account_b.stored()] == ["sent"]


async def test_a_draft_that_was_never_created_was_not_sent(account_b, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    account_b.fault(kind="500", match="/messages", method="POST")

    with pytest.raises(Unreachable) as caught:
        await account_b.port.send(DRAFT)

    assert caught.value.sent is False
    assert account_b.stored() == []


@pytest.mark.parametrize("count", [1, 3])
async def test_a_reply_whose_change_got_no_response_has_its_text_once(
    account_b, monkeypatch, count
):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    name = account_b.add("Plan", body="Shall we?")
    account_b.fault(kind="lostAnswer", count=count, method="PATCH")

    await account_b.port.reply(name, REPLY)

    (mail,) = account_b.stored(folder="sent")
    email = await account_b.port.get(mail.immutable_id, projection=ALL)
    assert (email.body.count("Fine."), email.body.count("Shall we?")) == (1, 1)
    assert account_b.stored(folder="drafts") == []


async def test_a_reply_that_cannot_be_completed_leaves_no_draft(account_b, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    name = account_b.add("Plan", body="Shall we?")
    account_b.fault(kind="lostAnswer", method="PATCH")

    with pytest.raises(Unreachable) as caught:
        await account_b.port.reply(name, REPLY)

    assert caught.value.sent is False
    assert [mail.folder for mail in account_b.stored()] == ["inbox"]


async def test_a_draft_of_an_earlier_try_is_sent(account_b, monkeypatch):
    monkeypatch.setattr(delivery, "LOOKUP_DELAYS_SECONDS", (0, 0))
    stored = []

    async def store(draft_id):
        stored.append(draft_id)

    attempt = SendAttempt(message_id="a@gw.example", store_draft=store)
    account_b.fault(kind="reset", match="/send", method="POST", count=1)
    with pytest.raises(OutcomeUnknown):
        await account_b.port.send(replace(DRAFT, attempt=attempt))

    retry = SendAttempt(message_id="b@gw.example", draft_id=stored[0])
    await account_b.port.send(replace(DRAFT, attempt=retry))

    assert len(stored) == 1
    assert [mail.folder for mail in account_b.stored()] == ["sent"]


async def test_a_draft_that_another_call_has_sent_is_not_deleted(account_b):
    """Graph refuses to send it again; its id is that of the sent message now."""
    sent = []

    async def send_elsewhere(draft_id):
        if not sent:
            sent.append(draft_id)
            retry = SendAttempt(message_id="b@gw.example", draft_id=draft_id)
            await account_b.port.send(replace(DRAFT, attempt=retry))

    attempt = SendAttempt(message_id="a@gw.example", store_draft=send_elsewhere)
    await account_b.port.send(replace(DRAFT, attempt=attempt))

    assert [mail.folder for mail in account_b.stored()] == ["sent"]


async def moved_below(account, message_id, *parents):
    """Move a message into a new folder below *parents*; return the message's id."""
    call, parent = account.port._call, parents[0]
    for name in (*parents[1:], "Old"):
        path = ("v1.0", "me", "mailFolders", parent, "childFolders")
        response = await call("POST", *path, json={"displayName": name})
        parent = json.loads(response.body)["id"]
    move = ("v1.0", "me", "messages", message_id, "move")
    moved = await call("POST", *move, json={"destinationId": parent})
    return json.loads(moved.body)["id"]


@pytest.mark.parametrize(
    "parents", [("deleteditems",), ("junkemail",), ("deleteditems", "2025", "March")]
)
@pytest.mark.parametrize("text", [None, "plan"])
async def test_mail_below_trash_and_junk_is_not_ordinary_mail(account_b, parents, text):
    account_b.add("Plan one")
    moved = await moved_below(account_b, account_b.add("Plan two"), *parents)

    query = MailQuery(limit=10, text=text, text_fields=TEXT)
    page = await account_b.port.search(query, after=None, projection=ALL)
    assert [email.subject for email in page.emails] == ["Plan one"]
    assert page.total == 1
    if parents[0] == "deleteditems":
        with pytest.raises(Missing):
            await account_b.port.trash(moved)


async def test_the_folders_of_trash_and_junk_are_read_once(account_b):
    await moved_below(account_b, account_b.add("Plan"), "deleteditems", "2025")
    account_b.sandbox.upstreams["providerB"].calls.clear()
    for _ in range(2):
        await account_b.port.search(MailQuery(limit=10), after=None, projection=ALL)

    paths = [call["path"] for call in account_b.sandbox.upstreams["providerB"].calls]
    assert sum("mailFolders" in path for path in paths) == 4  # two folders, two levels below


async def test_a_draft_that_is_gone_is_of_unknown_outcome(account_b):
    retry = SendAttempt(message_id="b@gw.example", draft_id="AAMkAGone=")

    with pytest.raises(OutcomeUnknown):
        await account_b.port.send(replace(DRAFT, attempt=retry))

    assert account_b.stored() == []
    assert {call["method"] for call in account_b.calls} == {"GET"}


async def test_a_refused_message_leaves_no_draft(account_b):
    account_b.fault(kind="403", match="/send", method="POST")

    with pytest.raises(Exception, match="permission"):
        await account_b.port.send(DRAFT)

    assert account_b.stored() == []


# -- times


@pytest.mark.parametrize(
    ("text", "received_at", "sent_at"),
    [
        ("2026-11-20T12:00:00Z", NOON_OF_PAGE, NOON_OF_PAGE),
        ("2026-11-20T14:00:00+02:00", NOON_OF_PAGE, NOON_OF_PAGE),
        ("2026-11-20T12:00:00", NOON_OF_PAGE, NOON_OF_PAGE),
        (
            "2026-11-20T12:00:00.123456Z",
            NOON_OF_PAGE.replace(microsecond=123000),
            NOON_OF_PAGE.replace(microsecond=123456),
        ),
        ("yesterday", EPOCH, None),
        ("0001-01-01T00:00:00+14:00", EPOCH, None),
        ("", None, None),
        (None, None, None),
    ],
)
def test_one_odd_time_does_not_break_the_page(text, received_at, sent_at):
    usual = {"id": "a", "receivedDateTime": "2026-11-20T12:00:00Z"}
    odd = {"id": "b", "receivedDateTime": text, "sentDateTime": text}
    body = json.dumps({"value": [usual, odd]}).encode()

    page = response_types.decode_page(Response(200, {}, body))

    times = [(message.id, message.received_at, message.sent_at) for message in page.value]
    assert times == [("a", NOON_OF_PAGE, None), ("b", received_at, sent_at)]


def test_members_that_are_not_wanted_are_not_decoded():
    """Such a member may even have another type; a member that is wanted may not."""
    sent = {"id": "a", "receivedDateTime": "2026-11-20T12:00:00Z", "isDraft": True, "subject": "s"}
    body = json.dumps(
        {"value": [{**sent, "bccRecipients": 5, "attachments": 5}], "@odata.count": 3}
    )
    response = Response(200, {}, body.encode())
    few = selected_fields.members(frozenset({"subject"}))
    more = selected_fields.members(frozenset({"subject", "bcc"}))

    page = response_types.decode_page(response, response_types.page_of(few))

    (message,) = page.value
    assert (page.count, message.id, message.is_draft, message.subject) == (3, "a", True, "s")
    assert (message.bcc_recipients, message.attachments, message.sent_at) == (None, None, None)
    assert message.received_ms == message.sent_ms == to_epoch_ms(NOON_OF_PAGE)
    with pytest.raises(Broken):
        response_types.decode_page(response, response_types.page_of(more))


# -- attachments


@pytest.mark.parametrize("name", [None, "", "absent"])
def test_an_attachment_without_a_name_has_one_of_ours(name):
    unnamed = {"id": "f", "name": name, "contentType": "text/plain", "size": 3, "isInline": True}
    if name == "absent":
        del unnamed["name"]
    files = [{"@odata.type": "#file", "id": "e", "name": "plan.txt"}, unnamed]
    body = json.dumps({"id": "a", "attachments": files}).encode()

    message = response_types.decode_message(Response(200, {}, body))
    record = mapping.email(message, frozenset({"attachments"}))

    assert record.attachments == (
        Attachment("e", "plan.txt"),
        Attachment("f", "noname", "text/plain", 3, is_inline=True),
    )


@pytest.mark.parametrize(
    "body", [b"[]", b"{", b'{"value": 5}', b'{"value": [{"id": 5}]}', b'{"value": [5]}', b"\xff"]
)
def test_a_page_of_another_shape_is_broken(body):
    with pytest.raises(Broken):
        response_types.decode_page(Response(200, {}, body))
