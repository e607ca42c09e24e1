"""The email queries, whole bodies."""

import pytest
from msgspec.structs import replace

from providers.failures import Broken, Missing, NeedsReauth, Throttled, TimedOut, Unreachable
from providers.records import mail as mail_records

PAGE = """{ emails {
    emails { id subject } totalCount totalCountExact hasMore nextPageToken accessInfo authWarnings
} }"""
IDS = """query ($limit: Int, $token: String) { emails(limit: $limit, pageToken: $token) {
    emails { id } hasMore nextPageToken totalCount
} }"""


async def test_it_merges_every_mailbox_newest_first(ask, world):
    status, body = await ask(PAGE)

    assert status == 200
    assert body == {
        "data": {
            "emails": {
                "emails": [
                    {"id": "providerA:a1", "subject": "Subject a1"},
                    {"id": "providerB:b1", "subject": "Subject b1"},
                    {"id": "providerA:a2", "subject": "Subject a2"},
                ],
                "totalCount": 3,
                "totalCountExact": True,
                "hasMore": False,
                "nextPageToken": None,
                "accessInfo": None,
                "authWarnings": None,
            }
        },
        "extensions": {"access": {"hiddenFields": {}}},
    }
    assert world.costs == [{"email": 1}]


async def test_it_shows_every_field_of_an_email(ask):
    _, body = await ask("""{ email(emailId: "providerA:a1") {
        id threadId subject from { email name } to { email name } cc { email name } bcc { email }
        bodyPreview body bodyType sentAt receivedAt isRead hasAttachments
        attachments { id name contentType size isInline } labels importance provider accessInfo
    } }""")

    assert body["data"]["email"] == {
        "id": "providerA:a1",
        "threadId": "providerA:talk-a1",
        "subject": "Subject a1",
        "from": {"email": "ann@example.com", "name": "Ann"},
        "to": [{"email": "bob@example.com", "name": "Bob"}],
        "cc": [{"email": "cy@example.com", "name": None}],
        "bcc": [],
        "bodyPreview": "Preview a1",
        "body": "<p>Body a1</p>",
        "bodyType": "html",
        "sentAt": "2026-11-20T11:58:55Z",
        "receivedAt": "2026-11-20T11:59:00Z",
        "isRead": False,
        "hasAttachments": True,
        "attachments": [
            {
                "id": "att",
                "name": "plan.pdf",
                "contentType": "application/pdf",
                "size": 2**40,
                "isInline": False,
            }
        ],
        "labels": ["Home"],
        "importance": "normal",
        "provider": "PROVIDER_A",
        "accessInfo": None,
    }


async def test_a_list_omits_bodies_unless_requested(ask, world):
    _, without = await ask("{ emails(limit: 1) { emails { body bodyType } } }")
    _, with_body = await ask("{ emails(limit: 1, includeBody: true) { emails { body bodyType } } }")

    assert without["data"]["emails"]["emails"] == [{"body": None, "bodyType": None}]
    assert with_body["data"]["emails"]["emails"] == [{"body": "<p>Body a1</p>", "bodyType": "html"}]
    first, second = [wanted for name, _, wanted in world.mailboxes[1].calls if name == "search"]
    assert first == set()
    assert second == {"body", "body_type"}


async def test_an_email_can_be_read_without_its_body(ask, world):
    _, body = await ask(
        '{ email(emailId: "providerA:a1", includeBody: false) { subject body bodyType } }'
    )

    assert body["data"]["email"] == {"subject": "Subject a1", "body": None, "bodyType": None}
    assert world.mailboxes[1].calls == [("get", "a1", {"subject"})]


async def test_pages_follow_each_other_without_loss(ask):
    seen, token = [], None
    for _ in range(3):
        _, body = await ask(IDS, {"limit": 1, "token": token})
        page = body["data"]["emails"]
        seen += [email["id"] for email in page["emails"]]
        token = page["nextPageToken"]

    assert seen == ["providerA:a1", "providerB:b1", "providerA:a2"]
    assert token is None


async def test_a_limit_above_the_maximum_is_lowered_and_noted(graph, world):
    operation = graph.prepare("{ emails(limit: 5000) { hasMore } }")
    context = world.context()

    outcome = await operation.run({}, context)

    assert outcome.data == {"emails": {"hasMore": False}}
    assert context.applied_limit == 50
    assert world.mailboxes[1].calls[0][1].limit == 50


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param("limit: 0", "INVALID_PARAMETER", "limit must be at least 1.", id="no limit"),
        pytest.param(
            'after: "2026-01-02", before: "2026-01-02"',
            "INVALID_RANGE",
            "before must be later than after.",
            id="an empty range",
        ),
        pytest.param(
            'pageToken: "nonsense"',
            "INVALID_PAGE_TOKEN",
            "The pageToken is not valid for this request.",
            id="a made-up page token",
        ),
    ],
)
async def test_an_invalid_argument_is_refused(ask, world, arguments, code, message):
    status, body = await ask(f"{{ emails({arguments}) {{ hasMore }} }}")

    assert status == 200
    assert body["data"] == {"emails": None}
    assert body["errors"] == [
        {
            "message": message,
            "locations": [{"line": 1, "column": 3}],
            "path": ["emails"],
            "extensions": {"code": code, "httpStatus": 400, "requestId": "req-1"},
        }
    ]
    assert world.mailboxes[1].calls == []


async def test_empty_filters_are_ignored(ask, world):
    await ask('{ emails(q: " ", from: "", to: "", subject: "", label: "") { hasMore } }')

    query = world.mailboxes[1].calls[0][1]
    assert (query.text, query.sender, query.recipient, query.subject, query.label) == (None,) * 5


async def test_filters_reach_every_mailbox(ask, world):
    await ask("""{ emails(
        q: "lease", from: "@x.example", to: "bob", subject: "Rent", label: "home", unread: true,
        after: "2026-01-01", before: "2026-02-01T00:00:00+01:00", hasAttachment: false, limit: 7
    ) { hasMore } }""")

    (_, query, _), (_, other, _) = world.mailboxes[1].calls[0], world.mailboxes[2].calls[0]
    assert query == other
    assert query.text == "lease"
    assert query.text_fields == {"subject", "body_preview", "body", "from_", "to", "cc"}
    assert (query.sender, query.recipient, query.subject) == ("@x.example", "bob", "Rent")
    assert (query.label, query.unread, query.has_attachment) == ("home", True, False)
    assert query.after.isoformat() == "2026-01-01T00:00:00+00:00"
    assert query.before.isoformat() == "2026-01-31T23:00:00+00:00"
    assert query.limit == 7


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        pytest.param(NeedsReauth(), "needs to be reconnected", id="revoked"),
        pytest.param(TimedOut(), "did not answer in time", id="slow"),
        pytest.param(Unreachable(), "failed", id="down"),
        pytest.param(Throttled(3), "failed", id="throttled"),
    ],
)
async def test_one_failing_mailbox_is_a_warning(ask, world, failure, words):
    world.mailboxes[2].failure = failure

    _, body = await ask(PAGE)

    assert [email["id"] for email in body["data"]["emails"]["emails"]] == [
        "providerA:a1",
        "providerA:a2",
    ]
    assert body["data"]["emails"]["authWarnings"] == [f"Provider B (me@b.example): {words}."]


async def test_a_warning_says_where_to_reconnect(ask, world):
    world.connections[1] = replace(world.connections[1], reconnect_url="https://gw.example/r/1")
    world.mailboxes[2].failure = NeedsReauth()

    _, body = await ask(PAGE)

    assert body["data"]["emails"]["authWarnings"] == [
        "Provider B (me@b.example): needs to be reconnected. Reconnect: https://gw.example/r/1"
    ]


async def test_an_unhealthy_mailbox_is_a_warning(ask, world):
    world.connections[1] = replace(world.connections[1], status="needs_reauth")

    _, body = await ask(PAGE)

    assert body["data"]["emails"]["authWarnings"] == [
        "Provider B (me@b.example): needs to be reconnected."
    ]
    assert world.mailboxes[2].calls == []


async def test_a_disabled_or_excluded_mailbox_is_no_warning(ask, world):
    world.connections[1] = replace(world.connections[1], status="disabled")

    _, body = await ask(PAGE)

    assert body["data"]["emails"]["authWarnings"] is None


async def test_a_partial_failure_fails_the_request_when_the_caller_requires_all(ask, world):
    world.mailboxes[2].failure = TimedOut()

    _, body = await ask(PAGE, require_all=True)

    assert body["data"] == {"emails": None}
    assert body["errors"][0]["message"] == "Provider B (me@b.example): did not answer in time."
    assert body["errors"][0]["extensions"]["code"] == "PROVIDER_ERROR"
    assert body["errors"][0]["extensions"]["httpStatus"] == 502


@pytest.mark.parametrize(
    ("failures", "code", "expected"),
    [
        pytest.param((Throttled(3), Throttled(9)), "RATE_LIMITED", (429, 9), id="all throttled"),
        pytest.param((TimedOut(), TimedOut()), "PROVIDER_TIMEOUT", (504, None), id="all slow"),
        pytest.param((TimedOut(), Throttled(9)), "PROVIDER_ERROR", (502, None), id="mixed"),
        pytest.param((NeedsReauth(), NeedsReauth()), "PROVIDER_ERROR", (502, None), id="revoked"),
    ],
)
async def test_it_fails_when_every_mailbox_does(ask, world, failures, code, expected):
    world.mailboxes[1].failure, world.mailboxes[2].failure = failures

    _, body = await ask(PAGE)

    extensions = body["errors"][0]["extensions"]
    assert extensions["code"] == code
    assert (extensions["httpStatus"], extensions.get("retryAfter")) == expected


@pytest.mark.parametrize(
    "email_id",
    [
        "providerA:nope",
        "providerB:a1",
        "providerC:a1",
        "a1",
        "providerA:",
        "",
        "providerA:" + "x" * 1100,
    ],
)
async def test_an_unknown_email_is_not_found(ask, email_id):
    _, body = await ask("query ($id: String!) { email(emailId: $id) { id } }", {"id": email_id})

    assert body["data"] == {"email": None}
    assert body["errors"][0]["message"] == "No email with this id."
    assert body["errors"][0]["extensions"] == {
        "code": "NOT_FOUND",
        "httpStatus": 404,
        "requestId": "req-1",
    }


@pytest.mark.parametrize("thread_id", ["providerA:nope", "talk-a1", "providerX:talk-a1"])
async def test_an_unknown_thread_is_not_found(ask, thread_id):
    _, body = await ask(
        "query ($id: String!) { emailThread(threadId: $id) { id } }", {"id": thread_id}
    )

    assert body["errors"][0]["message"] == "No thread with this id."
    assert body["errors"][0]["extensions"]["httpStatus"] == 404


async def test_the_same_email_twice_is_fetched_once(ask, world):
    _, body = await ask("""{
        first: email(emailId: "providerA:a1") { subject }
        second: email(emailId: "providerA:a1") { subject }
    }""")

    assert body["data"] == {"first": {"subject": "Subject a1"}, "second": {"subject": "Subject a1"}}
    assert len(world.mailboxes[1].calls) == 1
    assert world.costs == [{"email": 2}]


async def test_a_failure_of_one_field_leaves_its_siblings(ask):
    _, body = await ask("""{
        found: email(emailId: "providerA:a1") { id }
        lost: email(emailId: "providerA:nope") { id }
    }""")

    assert body["data"] == {"found": {"id": "providerA:a1"}, "lost": None}
    assert [error["path"] for error in body["errors"]] == [["lost"]]


async def test_a_thread_has_its_participants_and_last_message_time(ask, world, email):
    ann = mail_records.Participant(email="ann@example.com")
    ann_named = mail_records.Participant(email="ANN@example.com", name="Ann")
    bob = mail_records.Participant(email="bob@example.com", name="Bob")
    world.mailboxes[1].emails = [
        email("t2", 1, thread_id="t", subject="Re: Rent", from_=bob, to=(ann_named,), cc=()),
        email("t1", 9, thread_id="t", subject="Rent", from_=ann, to=(bob,), cc=()),
    ]

    _, body = await ask("""{ emailThread(threadId: "providerA:t") {
        id subject messages { id threadId body } messageCount
        participants { email name } lastMessageAt provider accessInfo
    } }""")

    assert body["data"]["emailThread"] == {
        "id": "providerA:t",
        "subject": "Rent",
        "messages": [
            {"id": "providerA:t1", "threadId": "providerA:t", "body": "<p>Body t1</p>"},
            {"id": "providerA:t2", "threadId": "providerA:t", "body": "<p>Body t2</p>"},
        ],
        "messageCount": 2,
        "participants": [
            {"email": "ann@example.com", "name": "Ann"},
            {"email": "bob@example.com", "name": "Bob"},
        ],
        "lastMessageAt": "2026-11-20T11:59:00Z",
        "provider": "PROVIDER_A",
        "accessInfo": None,
    }
    assert world.mailboxes[1].calls == [
        ("thread", "t", {"id", "thread_id", "subject", "body", "from_", "to", "cc", "received_at"})
    ]


@pytest.mark.parametrize("failure", [Broken(), Missing()])
async def test_a_failing_mailbox_does_not_affect_the_other(ask, world, failure):
    world.mailboxes[1].failure = failure

    _, body = await ask('{ email(emailId: "providerB:b1") { id } }')

    assert body["data"] == {"email": {"id": "providerB:b1"}}
