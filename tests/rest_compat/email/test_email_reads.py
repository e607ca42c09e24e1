"""Listing and reading mail over REST: parameters, whole bodies, errors."""

import pytest
from world import CODES, INBOX_LABELS, LEASE_FILE, LINE_END, PREFIXES

from policy.vocabulary import EmailField

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
MESSAGES = "/api/access/email/messages"
THREADS = "/api/access/email/threads"


def lease(world):
    """The lease as a listing without bodies shows it."""
    return {
        "id": world.id("lease"),
        "threadId": world.thread_id("lease"),
        "subject": "Lease for the flat",
        "from": {"email": "ana@home.example", "name": "Ana Müller"},
        "to": [{"email": "me@provider-a.example", "name": None}],
        "cc": [{"email": "bo@work.example", "name": None}],
        "bcc": [],
        "bodyPreview": "The lease is attached. Please sign it.",
        "body": None,
        "bodyType": None,
        "sentAt": "2026-11-19T09:00:00Z",
        "receivedAt": "2026-11-19T09:00:00Z",
        "isRead": False,
        "hasAttachments": True,
        "attachments": [
            {
                "id": attachment_id(world),
                "name": "lease.pdf",
                "contentType": "application/pdf",
                "size": LEASE_FILE["size"],
                "isInline": False,
            }
        ],
        "labels": [*INBOX_LABELS["PROVIDER_A"], "Home"],
        "importance": "normal",
        "provider": CODES["PROVIDER_A"],
    }


def budget(world):
    """The budget as a listing without bodies shows it."""
    return {
        "id": world.id("budget"),
        "threadId": world.thread_id("budget"),
        "subject": "Budget 2027",
        "from": {"email": "carla@work.example", "name": "Carla"},
        "to": [{"email": "me@provider-b.example", "name": None}],
        "cc": [],
        "bcc": [],
        "bodyPreview": "The budget for 2027.",
        "body": None,
        "bodyType": None,
        "sentAt": "2026-11-18T08:30:00Z",
        "receivedAt": "2026-11-18T08:30:00Z",
        "isRead": True,
        "hasAttachments": False,
        "attachments": [],
        "labels": [*INBOX_LABELS["PROVIDER_B"], "Finance"],
        "importance": "high",
        "provider": CODES["PROVIDER_B"],
    }


def attachment_id(world):
    """The id of the one attachment of the lease."""
    return f"{world.mails['lease'].immutable_id}.{LEASE_FILE['part']}"


LEASE_BODY = {
    "body": "The lease is attached. Please sign it." + LINE_END["PROVIDER_A"],
    "bodyType": "text",
}
BUDGET_BODY = {
    "body": "<p>The <b>budget</b> for 2027.</p>" + LINE_END["PROVIDER_B"],
    "bodyType": "html",
}
NEWEST_FIRST = ["lease", "budget", "answer", "lunch", "minutes"]


def names(world, page):
    by_id = {world.id(name): name for name in world.mails}
    return [by_id[email["id"]] for email in page["emails"]]


# -- GET /messages -------------------------------------------------------------------------------


async def test_a_page_is_one_list_over_both_mailboxes_newest_first(client, world):
    response = await client.get(MESSAGES, params={"limit": 2})

    assert response.status_code == 200
    page = response.json()
    assert page == {
        "emails": [lease(world), budget(world)],
        "totalCount": 5,
        "hasMore": True,
        "nextPageToken": page["nextPageToken"],
    }
    assert list(page) == ["emails", "totalCount", "hasMore", "nextPageToken"]
    assert list(page["emails"][0]) == list(lease(world))


async def test_following_the_page_tokens_reads_everything_once(client, world):
    seen, token = [], None
    for _ in range(9):
        params = {"limit": 2, **({"pageToken": token} if token else {})}
        page = (await client.get(MESSAGES, params=params)).json()
        seen += names(world, page)
        token = page["nextPageToken"]
        assert page["hasMore"] is (token is not None)
        if token is None:
            break

    assert seen == NEWEST_FIRST


@shared
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({}, NEWEST_FIRST, id="nothing: all but drafts, spam and trash"),
        pytest.param({"q": "lease sign"}, ["lease"], id="q: every word"),
        pytest.param({"q": '"the budget"'}, ["budget"], id="q: a phrase"),
        pytest.param({"q": "absent"}, [], id="q: no match"),
        pytest.param({"from": "bo@work.example"}, ["lunch", "minutes"], id="from: an address"),
        pytest.param({"from": "BO@WORK.EXAMPLE"}, ["lunch", "minutes"], id="from: any case"),
        pytest.param({"from": "@home.example"}, ["lease"], id="from: a domain"),
        pytest.param({"from": "müller"}, ["lease"], id="from: a word of a name"),
        pytest.param({"to": "bo@work.example"}, ["lease", "answer"], id="to: also looks in cc"),
        pytest.param({"subject": "LUNCH"}, ["answer", "lunch"], id="subject: part, any case"),
        pytest.param({"label": "home"}, ["lease"], id="label: any case, provider A"),
        pytest.param({"label": "FINANCE"}, ["budget"], id="label: any case, provider B"),
        pytest.param({"label": "spam"}, ["junk"], id="label: spam names that folder"),
        pytest.param({"unread": "true"}, ["lease", "minutes"], id="unread: true restricts"),
        pytest.param({"unread": "false"}, NEWEST_FIRST, id="unread: false does not"),
        pytest.param({"after": "2026-11-18T08:30:00Z"}, ["lease"], id="after: strictly later"),
        pytest.param(
            {"after": "2026-11-18T09:29:59+01:00"}, ["lease", "budget"], id="after: an offset"
        ),
        pytest.param({"after": "2026-11-19"}, ["lease"], id="after: a date"),
        pytest.param(
            {"before": "2026-11-17T12:00:00"}, ["minutes"], id="before: strictly earlier, naive"
        ),
        pytest.param(
            {"after": "2026-11-17", "before": "2026-11-18"}, ["answer", "lunch"], id="both"
        ),
        pytest.param({"hasAttachment": "1"}, ["lease"], id="hasAttachment: true"),
        pytest.param({"hasAttachment": "0"}, NEWEST_FIRST[1:], id="hasAttachment: false"),
        pytest.param({"from": ""}, NEWEST_FIRST, id="an empty value is absent"),
        pytest.param({"colour": "red"}, NEWEST_FIRST, id="an unknown name is ignored"),
        pytest.param({"from": "bo@", "unread": "true"}, ["minutes"], id="filters are ANDed"),
    ],
)
async def test_a_filter_returns_the_matching_messages(
    shared_client, shared_world, params, expected
):
    response = await shared_client.get(MESSAGES, params=params)

    assert response.status_code == 200, response.text
    page = response.json()
    assert names(shared_world, page) == expected
    assert page["totalCount"] == len(expected)
    assert page["hasMore"] is False
    assert page["nextPageToken"] is None


async def test_bodies_are_fetched_only_on_request(client, world):
    with_bodies = await client.get(MESSAGES, params={"includeBody": "true", "limit": 2})
    world.forget_calls()
    await client.get(MESSAGES, params={"includeBody": "false", "limit": 2})

    assert with_bodies.json()["emails"] == [
        {**lease(world), **LEASE_BODY},
        {**budget(world), **BUDGET_BODY},
    ]
    queries = [str(call["query"]) for call in world.calls()]
    assert [call for call in queries if "data" in call or "body," in call] == []


@shared
@pytest.mark.parametrize(
    ("limit", "applied"), [("51", "50"), ("99999999999999999999", "50"), ("50", None), ("1", None)]
)
async def test_a_limit_above_the_maximum_is_lowered_and_reported(shared_client, limit, applied):
    response = await shared_client.get(MESSAGES, params={"limit": limit})

    assert response.status_code == 200
    assert response.headers.get("x-applied-limit") == applied


@shared
@pytest.mark.parametrize(
    "times",
    [
        {"before": "9999-12-31T23:59:59Z"},
        {"before": "9999-12-31T23:59:59Z", "q": "lease"},
        {"after": "0001-01-01", "q": "lease"},
        {"after": "0001-01-01", "before": "9999-12-31"},
    ],
)
async def test_the_first_and_the_last_time_bound_nothing(shared_client, times):
    response = await shared_client.get(MESSAGES, params=times)
    words = {"q": times["q"]} if "q" in times else {}
    everything = await shared_client.get(MESSAGES, params=words)

    assert response.status_code == 200
    assert response.json()["emails"] == everything.json()["emails"]


@shared
@pytest.mark.parametrize(
    ("params", "code", "field"),
    [
        pytest.param({"limit": "0"}, "INVALID_PARAMETER", None, id="limit below 1"),
        pytest.param({"limit": "-99999999999"}, "INVALID_PARAMETER", None, id="far below"),
        pytest.param({"limit": "ten"}, "INVALID_PARAMETER", "limit", id="limit no integer"),
        pytest.param({"unread": "yes"}, "INVALID_PARAMETER", "unread", id="no boolean"),
        pytest.param({"after": "today"}, "INVALID_PARAMETER", "after", id="no time"),
        pytest.param({"q": "x" * 501}, "INVALID_PARAMETER", None, id="q over 500 characters"),
        pytest.param(
            {"after": "2026-11-18", "before": "2026-11-18"}, "INVALID_RANGE", None, id="no range"
        ),
        pytest.param({"pageToken": "nonsense"}, "INVALID_PAGE_TOKEN", None, id="a bad page token"),
        pytest.param([("q", "a"), ("q", "b")], "INVALID_PARAMETER", "q", id="q given twice"),
    ],
)
async def test_an_invalid_parameter_is_400_without_upstream_calls(
    shared_client, shared_world, params, code, field
):
    response = await shared_client.get(MESSAGES, params=params)

    assert response.status_code == 400
    body = response.json()
    assert body["error"] == code
    assert body["requestId"] == response.headers["x-request-id"]
    if field:
        assert [detail["field"] for detail in body["details"]] == [field]
    assert shared_world.calls() == []


async def test_a_page_token_belongs_to_its_filters(client, world):
    page = (await client.get(MESSAGES, params={"limit": 1})).json()
    world.forget_calls()

    other = {"pageToken": page["nextPageToken"], "q": "lease"}
    response = await client.get(MESSAGES, params=other)

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PAGE_TOKEN"
    assert world.calls() == []


async def test_a_page_token_belongs_to_its_token(client, world):
    page = (await client.get(MESSAGES, params={"limit": 1})).json()
    async with world.client(await world.token({})) as other:
        response = await other.get(MESSAGES, params={"pageToken": page["nextPageToken"]})

    assert response.json()["error"] == "INVALID_PAGE_TOKEN"


async def test_limit_and_bodies_may_change_between_pages(client, world):
    page = (await client.get(MESSAGES, params={"limit": 1})).json()

    params = {"pageToken": page["nextPageToken"], "limit": 9, "includeBody": "true"}
    response = await client.get(MESSAGES, params=params)

    assert names(world, response.json()) == NEWEST_FIRST[1:]


async def test_a_failed_mailbox_is_named_with_the_results_of_the_others(client, world):
    await world.fail("provider-b", kind="500")

    response = await client.get(MESSAGES)

    assert response.status_code == 200
    page = response.json()
    assert names(world, page) == ["lease", "answer", "lunch"]
    assert page["authWarnings"] == ["Provider B (me@provider-b.example): failed."]
    assert list(page)[-1] == "authWarnings"


async def test_partial_fail_turns_a_failed_mailbox_into_an_error(client, world):
    await world.fail("provider-b", kind="500")

    response = await client.get(MESSAGES, headers={"prefer": "partial=fail"})

    assert response.status_code == 502
    assert response.json()["error"] == "PROVIDER_ERROR"
    assert response.headers["preference-applied"] == "partial=fail"


async def test_partial_fail_holds_for_graphql_too(client, world):
    await world.fail("provider-b", kind="500")
    query = {"query": "{ emails { emails { id } } accessToken { name } }"}

    usual = await client.post("/graphql", json=query)
    strict = await client.post(
        "/graphql", json=query, headers={"prefer": "partial=fail, handling=strict"}
    )

    assert len(usual.json()["data"]["emails"]["emails"]) == 3
    assert "preference-applied" not in usual.headers
    assert strict.status_code == 200
    assert strict.headers["preference-applied"] == "partial=fail"
    assert strict.json()["data"] == {"emails": None, "accessToken": {"name": "test"}}
    (error,) = strict.json()["errors"]
    assert error["message"] == "Provider B (me@provider-b.example): failed."
    assert error["path"] == ["emails"]
    assert (error["extensions"]["code"], error["extensions"]["httpStatus"]) == (
        "PROVIDER_ERROR",
        502,
    )


@pytest.mark.parametrize(
    ("fault", "status", "error", "retry_after"),
    [
        pytest.param({"kind": "500"}, 502, "PROVIDER_ERROR", None, id="both fail"),
        pytest.param({"kind": "malformed"}, 502, "PROVIDER_ERROR", None, id="both talk nonsense"),
        pytest.param({"kind": "401"}, 502, "PROVIDER_ERROR", None, id="an upstream 401 is no 401"),
        pytest.param({"kind": "429", "retryAfter": 7}, 429, None, "7", id="both throttle"),
    ],
)
async def test_the_request_fails_when_every_mailbox_fails(
    client, world, fault, *, status, error, retry_after
):
    await world.fail("provider-a", **fault)
    await world.fail("provider-b", **fault)

    response = await client.get(MESSAGES)

    assert response.status_code == status
    assert response.json()["error"] == error
    assert response.headers.get("retry-after") == retry_after
    assert "www-authenticate" not in response.headers


@pytest.mark.caller(visibleEmailFields=["subject", "received_at"])
async def test_a_masked_value_is_null_and_not_fetched(client, world):
    response = await client.get(MESSAGES, params={"limit": 1, "includeBody": "true"})

    hidden = ("from", "to", "cc", "bcc", "bodyPreview", "body", "bodyType", "sentAt")
    hidden += ("attachments", "labels", "importance")
    page = response.json()
    assert page["emails"] == [{**lease(world), **dict.fromkeys(hidden)}]
    assert list(page["emails"][0]) == list(lease(world))
    assert page["accessInfo"] == (
        "Hidden email fields: from, to, cc, bcc, body_preview, body, sent_at, attachments, "
        "labels, importance. "
        "Visible email fields may still show hidden ones: sent_at (in received_at)."
    )
    assert list(page)[-1] == "accessInfo"
    queries = [str(call["query"]) for call in world.calls()]
    assert [call for call in queries if "data" in call or "bodyPreview" in call] == []


@shared
@pytest.mark.caller(visibleEmailFields=["subject"])
@pytest.mark.parametrize(
    "params",
    [
        {"from": "bo@work.example"},
        {"to": "bo"},
        {"label": "Home"},
        {"after": "2026-11-18"},
        {"before": "2026-11-18"},
    ],
    ids=lambda params: next(iter(params)),
)
async def test_a_filter_on_a_hidden_field_is_403_without_upstream_calls(
    shared_client, shared_world, params
):
    response = await shared_client.get(MESSAGES, params=params)

    assert response.status_code == 403
    assert response.json()["error"] == "FIELD_NOT_VISIBLE"
    assert shared_world.calls() == []


# -- GET /messages/{emailId} ---------------------------------------------------------------------


@shared
@pytest.mark.parametrize(
    ("name", "shown", "body"),
    [("lease", lease, LEASE_BODY), ("budget", budget, BUDGET_BODY)],
    ids=["provider A", "provider B"],
)
async def test_a_message_is_read_with_its_body(shared_client, shared_world, name, shown, body):
    response = await shared_client.get(f"{MESSAGES}/{shared_world.id(name)}")

    assert response.status_code == 200
    assert response.json() == {**shown(shared_world), **body}
    assert list(response.json()) == list(shown(shared_world))


async def test_a_message_is_read_without_its_body_on_request(client, world):
    response = await client.get(f"{MESSAGES}/{world.id('lease')}", params={"includeBody": "0"})

    assert response.json() == lease(world)


@pytest.mark.caller(allowedEmailOperations=["view_email"])
async def test_the_restrictions_of_the_token_are_one_more_key(client, world):
    response = await client.get(f"{MESSAGES}/{world.id('lease')}")

    body = response.json()
    assert list(body)[-1] == "accessInfo"
    assert body["accessInfo"] == (
        "Read-only email access: sending, replying, forwarding, deleting and changing messages "
        "are not allowed. Not allowed on email: search_emails, view_thread."
    )


@shared
@pytest.mark.parametrize(
    "email_id",
    [
        f"{PREFIXES['PROVIDER_A']}:absent",
        f"{PREFIXES['PROVIDER_B']}:absent",
        "providerC:1",
        "1004065c3b99b360",
        f"{PREFIXES['PROVIDER_A']}:",
        f"{PREFIXES['PROVIDER_A']}%3A",
        "",
        "send",
        f"{PREFIXES['PROVIDER_A']}:{'x' * 1100}",
        f"{PREFIXES['PROVIDER_A']}:..",
        f"{PREFIXES['PROVIDER_A']}:..%2Fthreads",
        f"{PREFIXES['PROVIDER_A']}:a%2Fb",
    ],
)
@pytest.mark.parametrize("kind", ["messages", "threads"])
async def test_an_unknown_id_is_404(shared_client, email_id, kind):
    response = await shared_client.get(f"/api/access/email/{kind}/{email_id}")

    assert response.status_code == 404
    what = "email" if kind == "messages" else "thread"
    assert response.json() == {
        "error": "NOT_FOUND",
        "message": f"No {what} with this id.",
        "requestId": response.headers["x-request-id"],
    }


async def test_a_provider_the_token_has_no_connection_for_is_404_without_a_call(world):
    token = await world.token({"allowedConnectionIds": [world.connections["PROVIDER_A"]]})
    async with world.client(token) as client:
        response = await client.get(f"{MESSAGES}/{world.id('budget')}")

    assert response.status_code == 404
    assert response.json()["error"] == "NOT_FOUND"
    assert world.calls() == []


@pytest.mark.parametrize("path", ["messages/{}", "threads/{}"])
async def test_a_failing_provider_is_502_and_a_throttling_one_429(client, world, path):
    url = f"/api/access/email/{path}".format(world.id("lease"))
    await world.fail("provider-a", kind="429", retryAfter=3)
    throttled = await client.get(url)
    await world.fail("provider-a", kind="403")
    refused = await client.get(url)

    assert throttled.status_code == 429
    assert throttled.json()["error"] is None
    assert throttled.headers["retry-after"] == "3"
    assert refused.status_code in {429, 502}  # the wait of the first is remembered


# -- GET /threads/{threadId} ---------------------------------------------------------------------


async def test_a_thread_is_read_oldest_first_with_the_core_fields(client, world):
    thread = world.thread_id("lunch")
    response = await client.get(f"{THREADS}/{thread}")

    assert response.status_code == 200
    assert response.json() == {
        "id": thread,
        "subject": "Lunch on Friday?",
        "messages": [
            {
                "id": world.id("lunch"),
                "threadId": thread,
                "subject": "Lunch on Friday?",
                "from": {"email": "bo@work.example", "name": None},
                "to": [{"email": "me@provider-a.example", "name": None}],
                "body": "At noon?" + LINE_END["PROVIDER_A"],
                "bodyType": "text",
                "sentAt": "2026-11-17T12:00:00Z",
                "receivedAt": "2026-11-17T12:00:00Z",
                "isRead": True,
                "hasAttachments": False,
                "provider": CODES["PROVIDER_A"],
            },
            {
                "id": world.id("answer"),
                "threadId": thread,
                "subject": "Re: Lunch on Friday?",
                "from": {"email": "me@provider-a.example", "name": None},
                "to": [{"email": "bo@work.example", "name": None}],
                "body": "Yes." + LINE_END["PROVIDER_A"],
                "bodyType": "text",
                "sentAt": "2026-11-17T12:30:00Z",
                "receivedAt": "2026-11-17T12:30:00Z",
                "isRead": True,
                "hasAttachments": False,
                "provider": CODES["PROVIDER_A"],
            },
        ],
        "messageCount": 2,
        "participants": [
            {"email": "bo@work.example", "name": None},
            {"email": "me@provider-a.example", "name": None},
        ],
        "lastMessageAt": "2026-11-17T12:30:00Z",
        "provider": CODES["PROVIDER_A"],
    }
    assert list(response.json())[:3] == ["id", "subject", "messages"]


async def test_a_conversation_of_provider_b_is_its_thread(client, world):
    response = await client.get(f"{THREADS}/{world.thread_id('budget')}")

    assert response.status_code == 200
    body = response.json()
    assert [message["id"] for message in body["messages"]] == [world.id("budget")]
    assert body["messages"][0]["body"] == BUDGET_BODY["body"]
    assert body["provider"] == CODES["PROVIDER_B"]


@pytest.mark.caller(visibleEmailFields=["subject"])
async def test_a_thread_shows_no_participants_when_none_are_visible(client, world):
    body = (await client.get(f"{THREADS}/{world.thread_id('lunch')}")).json()

    assert body["participants"] is None
    assert body["lastMessageAt"] is None
    assert body["messages"][0]["body"] is None
    assert body["messageCount"] == 2


# Members that a word hides: docs/spec/masks.md#email-fields.
MEMBERS = {word: (word.value,) for word in EmailField} | {
    EmailField.BODY_PREVIEW: ("bodyPreview",),
    EmailField.BODY: ("body", "bodyType"),
    EmailField.SENT_AT: ("sentAt",),
    EmailField.RECEIVED_AT: ("receivedAt", "lastMessageAt"),
    EmailField.CONNECTION_ID: (),  # GraphQL alone
}
READS = [
    f"{MESSAGES}?includeBody=true",
    f"{MESSAGES}?q=lease",
    f"{MESSAGES}?from=ana&to=bo&subject=lease&label=home",
    f"{MESSAGES}?after=2026-11-17T00:00:00Z&before=2026-11-19T00:00:00Z&limit=1",
    f"{MESSAGES}?unread=true&hasAttachment=true",
]


def without(answer, members):
    """Return an answer with *members* null, and without what describes the token."""
    if isinstance(answer, dict):
        described = {"accessInfo", "nextPageToken"}
        kept = {name: value for name, value in answer.items() if name not in described}
        return {
            name: None if name in members else without(value, members)
            for name, value in kept.items()
        }
    return [without(item, members) for item in answer] if isinstance(answer, list) else answer


@pytest.mark.slow
@pytest.mark.parametrize("word", [pytest.param(word, id=str(word)) for word in MEMBERS])
async def test_a_basic_mask_nulls_its_members_and_nothing_else(world, word):
    shown = [item.value for item in EmailField if item is not word]
    token = await world.token({"visibleEmailFields": shown, "maskMode": "basic"})
    threads = [f"{THREADS}/{world.thread_id(name)}" for name in ("lunch", "budget")]
    singles = [f"{MESSAGES}/{world.id(name)}" for name in ("lease", "minutes")]
    # The participants of a thread are made of the visible ones of from, to and cc.
    derived = ("participants",) if word in (EmailField.FROM, EmailField.TO, EmailField.CC) else ()

    async with world.client(await world.token({})) as full, world.client(token) as masked:
        for path in (*READS, *threads, *singles):
            expected, response = await full.get(path), await masked.get(path)

            assert response.status_code == expected.status_code == 200
            assert without(response.json(), derived) == without(
                expected.json(), (*MEMBERS[word], *derived)
            )
