"""Two worlds that differ only in masked values give byte-identical responses."""

import json

import pytest
from graph_requests import respond

from policy.vocabulary import EmailField
from providers.records import mail as mail_records

SOMEBODY = mail_records.Participant(email="else@other.example", name="Somebody Else")

# A mask word -> the same mail with another value behind it.
OTHER = {
    EmailField.SUBJECT: {"subject": "Quite another subject"},
    EmailField.FROM: {"from_": SOMEBODY},
    EmailField.TO: {"to": (SOMEBODY, SOMEBODY)},
    EmailField.CC: {"cc": (SOMEBODY,)},
    EmailField.BCC: {"bcc": (SOMEBODY,)},
    EmailField.BODY_PREVIEW: {"body_preview": "Another preview"},
    EmailField.BODY: {"body": "Another body", "body_type": "text"},
    EmailField.SENT_AT: {"sent_at": None},
    EmailField.ATTACHMENTS: {"attachments": ()},
    EmailField.LABELS: {"labels": ("Other", "More")},
    EmailField.IMPORTANCE: {"importance": "high"},
}

EMAIL = """
    id threadId subject from { email name } to { email } cc { email } bcc { email } bodyPreview
    body bodyType text new: text(quoted: false)
    sentAt receivedAt isRead hasAttachments attachments { id name size }
    labels importance provider accessInfo
"""
DOCUMENTS = [
    f"""{{ emails(includeBody: true) {{
        emails {{ {EMAIL} }} totalCount nextPageToken accessInfo
    }} }}""",
    f'{{ email(emailId: "providerA:a1") {{ {EMAIL} }} }}',
    f"""{{ emailThread(threadId: "providerA:t") {{
        subject participants {{ email name }} lastMessageAt messages {{ {EMAIL} }}
    }} }}""",
    '{ emails(q: "another") { emails { id } totalCount } }',
    '{ emails(subject: "another", from: "else", to: "else", label: "other") { totalCount } }',
    """{ email(emailId: "providerA:a1") { ...A ... on Email { seen: body } } }
       fragment A on Email { hidden: subject again: from { email } }""",
]


async def answers(graph, world, document):
    async def admit(_):
        return world.context()

    body = json.dumps({"query": document}).encode()
    reply = await respond(graph, body, admit=admit, request_id="req-1")
    return reply.status, reply.body


@pytest.mark.parametrize("word", OTHER)
async def test_a_hidden_value_changes_nothing(graph, world, email, word):
    world.settings["visibleEmailFields"] = [field for field in EmailField if field is not word]
    seen = []
    for values in ({}, OTHER[word]):
        world.mailboxes[1].emails = [
            email("a1", 1, thread_id="t", **values),
            email("a2", 2, thread_id="t", **values),
        ]
        seen.append([await answers(graph, world, document) for document in DOCUMENTS])

    assert seen[0] == seen[1]


@pytest.mark.parametrize("word", OTHER)
async def test_a_hidden_field_is_never_requested_upstream(graph, world, word):
    world.settings["visibleEmailFields"] = [field for field in EmailField if field is not word]

    for document in DOCUMENTS:
        await answers(graph, world, document)

    wanted = {
        name
        for mailbox in world.mailboxes.values()
        for call in mailbox.calls
        if call[0] in {"search", "get", "thread"}
        for name in call[2]
    }
    assert wanted
    assert wanted.isdisjoint(OTHER[word])


async def test_hidden_fields_are_null_and_listed(ask, world):
    world.settings["visibleEmailFields"] = ["subject", "from"]

    _, body = await ask("""{
        email(emailId: "providerA:a1") { subject from { name } to { name } body labels accessInfo }
    }""")

    info = (
        "Hidden email fields: to, cc, bcc, body_preview, body, sent_at, received_at, "
        "attachments, labels, importance."
    )
    assert body == {
        "data": {
            "email": {
                "subject": "Subject a1",
                "from": {"name": "Ann"},
                "to": None,
                "body": None,
                "labels": None,
                "accessInfo": info,
            }
        },
        "extensions": {
            "access": {
                "hiddenFields": {
                    "Email": [
                        "to",
                        "cc",
                        "bcc",
                        "bodyPreview",
                        "body",
                        "bodyType",
                        "text",
                        "links",
                        "sentAt",
                        "receivedAt",
                        "attachments",
                        "labels",
                        "importance",
                        "connectionId",
                    ],
                    "PersonMatch": ["lastContact"],
                    "Thread": ["lastMessageAt"],
                },
                "accessInfo": info,
            }
        },
    }


@pytest.mark.parametrize(
    ("argument", "word"),
    [
        ('from: "x"', "from"),
        ('to: "x"', "to"),
        ('subject: "x"', "subject"),
        ('label: "x"', "labels"),
        ('after: "2026-01-01"', "received_at"),
        ('before: "2026-01-01"', "received_at"),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "basic"])
async def test_a_filter_on_a_hidden_field_is_refused(ask, world, argument, word, mode):
    world.settings["visibleEmailFields"] = [field for field in EmailField if field != word]
    world.settings["maskMode"] = mode

    _, body = await ask(f"{{ emails({argument}) {{ hasMore }} }}")

    if mode == "basic":
        assert "errors" not in body
        return
    name = argument.partition(":")[0]
    assert body["errors"][0]["message"] == (
        f"The filter '{name}' would reveal a field that this token may not see: '{word}'."
    )
    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert body["errors"][0]["extensions"]["httpStatus"] == 403
    assert world.mailboxes[1].calls == []


async def test_free_text_looks_at_visible_fields_alone(ask, world):
    world.settings["visibleEmailFields"] = ["subject", "to", "labels"]

    await ask('{ emails(q: "x") { hasMore } }')

    assert world.mailboxes[1].calls[0][1].text_fields == {"subject", "to"}


@pytest.mark.parametrize(
    ("hidden", "mode", "looked"),
    [
        pytest.param("importance", "strict", (True, True), id="nothing that is searched"),
        pytest.param("attachments", "strict", (False, True), id="names of attachments"),
        pytest.param("bcc", "strict", (False, True), id="blind copies"),
        pytest.param("labels", "strict", (False, True), id="labels"),
        pytest.param("cc", "strict", (True, False), id="carbon copies"),
        pytest.param("cc", "basic", (True, True), id="basic masks"),
    ],
)
async def test_hidden_fields_are_not_searched(ask, world, hidden, mode, looked):
    world.settings |= {
        "visibleEmailFields": [field for field in EmailField if field != hidden],
        "maskMode": mode,
    }

    await ask('{ emails(q: "x", to: "cy@example.com") { hasMore } }')

    query = world.mailboxes[1].calls[0][1]
    assert (query.text_beyond, query.recipient_in_cc) == looked


async def test_free_text_without_a_visible_text_field_is_refused(ask, world):
    world.settings["visibleEmailFields"] = ["labels"]

    _, body = await ask('{ emails(q: "x") { hasMore } }')

    assert body["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"


async def test_free_text_looks_everywhere_in_basic_mode(ask, world):
    world.settings |= {"visibleEmailFields": ["labels"], "maskMode": "basic"}

    await ask('{ emails(q: "x") { hasMore } }')

    assert len(world.mailboxes[1].calls[0][1].text_fields) == 6


async def test_participants_come_from_visible_fields(ask, world):
    world.settings["visibleEmailFields"] = ["to"]

    _, body = await ask(
        '{ emailThread(threadId: "providerA:talk-a1") { participants { email } subject } }'
    )

    assert body["data"]["emailThread"] == {
        "participants": [{"email": "bob@example.com"}],
        "subject": None,
    }
    assert world.mailboxes[1].calls == [("thread", "talk-a1", {"to"})]
