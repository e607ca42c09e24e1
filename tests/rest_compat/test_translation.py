"""
REST calls and GraphQL documents are translated into each other, and answer the same.

Every row of the table is called by tokens that may do everything, that see less, and that may only
read. Reads are compared in one world; writes in two worlds that are alike, one by REST and one by
the documents of the calls.
"""

import base64
import re
from urllib.parse import quote

import generated_shapes as generated
import orjson
import pytest
import whole_world
import world as worlds

from rest_compat.documents import OMITTED_WHEN_EMPTY
from rest_compat.table import ENDPOINTS

EMAIL, CALENDAR, TASKS, COLLAB = (
    f"/api/access/{surface}" for surface in ("email", "calendar", "tasks", "collab")
)
ITEMS = COLLAB + "/sites/{siteId}/lists/{listId}/items"
ANA = {"email": "ana@home.example", "name": "Ana"}
READS = (
    EMAIL + "/messages?q=lease&limit=2&includeBody=true&unread=false",
    EMAIL + "/messages?from=ana%40home.example&after=2026-01-01T00:00:00%2B01:00",
    EMAIL + "/messages/{emailId}?includeBody=0",
    EMAIL + "/messages/{emailId}/attachments/{attachmentId}/text",
    EMAIL + "/threads/{threadId}",
    CALENDAR + "/events?from=2026-11-01&to=2026-12-01&limit=3&offset=1",
    CALENDAR + "/events/by-contact?email=ana",
    CALENDAR + "/events/{eventId}",
    CALENDAR + "/freebusy?from=2026-11-20&to=2026-11-21",
    CALENDAR + "/calendars",
    TASKS + "/providers",
    EMAIL + "/drafts?limit=2",
    "/api/access/people?name=ana",
    EMAIL + "/drafts/{draftId}",
    TASKS + "/boards?provider=auto",
    TASKS + "/boards/{boardId}",
    TASKS + "/boards/{boardId}/items?query=door&limit=5",
    TASKS + "/items/{itemId}",
    COLLAB + "/files?q=oar&limit=3",
    COLLAB + "/files?folderId={folderId}&orderBy=name%20desc",
    COLLAB + "/files/{fileId}",
    COLLAB + "/files/{fileId}/download",
    COLLAB + "/files/{fileId}/text",
    COLLAB + "/files/{fileId}/permissions",
    COLLAB + "/sites",
    COLLAB + "/sites/{siteId}",
    COLLAB + "/sites/{siteId}/drives",
    COLLAB + "/sites/{siteId}/lists?limit=2",
    COLLAB + "/sites/{siteId}/lists/{listId}",
    ITEMS + "?limit=2",
    ITEMS + "/{itemId}",
    COLLAB + "/sensitivity-labels",
    COLLAB + "/files/{fileId}/sensitivity-label",
    COLLAB + "/search?q=oar&size=2",
    "/api/access/token",
    "/api/access/token/children",
)
# Their responses are a file, not JSON.
STREAMS = (EMAIL + "/messages/{emailId}/attachments/{attachmentId}",)
WRITES = (
    ("POST", EMAIL + "/messages/send", {"to": [ANA], "subject": "Oars", "body": "Two."}),
    ("POST", EMAIL + "/messages/{emailId}/reply", {"body": "Thanks.", "replyAll": False}),
    ("POST", EMAIL + "/messages/{emailId}/forward", {"to": [ANA], "body": "FYI"}),
    ("PATCH", EMAIL + "/messages/{emailId}", {"markAsRead": True}),
    ("DELETE", EMAIL + "/messages/{emailId}", None),
    ("PATCH", EMAIL + "/drafts/{draftId}", {"subject": "Oars"}),
    ("POST", EMAIL + "/drafts", {"to": [ANA], "subject": "Oars", "body": "Two."}),
    ("POST", EMAIL + "/drafts/{draftId}/send", None),
    ("DELETE", EMAIL + "/drafts/{draftId}", None),
    ("POST", EMAIL + "/attachments?fileName=oars.txt", b"oars"),
    ("DELETE", EMAIL + "/attachments/{handle}", None),
    ("POST", TASKS + "/boards/{boardId}/items", {"name": "Order varnish", "groupId": "todo"}),
    ("PATCH", TASKS + "/items/{itemId}", {"fields": {"name": "Varnish"}}),
    ("POST", TASKS + "/items/{itemId}/comments", {"body": "It has arrived."}),
    ("DELETE", TASKS + "/items/{itemId}", None),
    ("POST", COLLAB + "/folders", {"name": "Plans", "parentFolderId": "{folderId}"}),
    ("POST", COLLAB + "/files/upload?fileName=a.txt&folderId={folderId}", b"oars \xff"),
    ("PATCH", COLLAB + "/files/{fileId}/rename", {"newName": "sketch 2.png"}),
    ("POST", COLLAB + "/files/{fileId}/share", {"type": "anyone", "role": "reader"}),
    ("PATCH", COLLAB + "/files/{fileId}/permissions/{permissionId}", {"role": "reader"}),
    ("DELETE", COLLAB + "/files/{fileId}/permissions/{permissionId}", None),
    ("PATCH", COLLAB + "/files/{fileId}/move", {"destinationFolderId": "{folderId}"}),
    ("DELETE", COLLAB + "/files/{fileId}", None),
    ("POST", ITEMS, {"fields": {"Title": "A1"}}),
    ("PATCH", ITEMS + "/{itemId}", {"fields": {"Title": "A2"}}),
    ("DELETE", ITEMS + "/{itemId}", None),
    ("POST", "/api/access/token/children", {"name": "child"}),
    ("DELETE", "/api/access/token/children/{childId}", None),
)
TOKENS = {
    "full": {},
    "masked": {
        "visibleEmailFields": ["subject", "from", "body", "attachments", "received_at"],
        "visibleCollabFields": ["name", "web_view_link", "modified_time"],
        "visibleTaskFields": ["name"],
        "visibleCalendarFields": ["title", "times", "attendees"],
    },
    "reader": {
        "allowedEmailOperations": ["read_only"],
        "calendarAccessLevel": "free_busy_only",
        "allowedTaskOperations": ["read_only"],
        "allowedCollabOperations": ["read_only"],
    },
}
# Made anew for each answer: sealed, signed or timed.
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
ANEW = frozenset(
    {
        "nextPageToken",
        "downloadUrl",
        "downloadLink",
        "expiresAt",
        "handle",
        "keyId",
        "token",
        "createdAt",
    }
)


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("rest")) as world:
        yield world


@pytest.fixture(scope="module", params=TOKENS)
def caller(request, world):
    return Caller(world, TOKENS[request.param])


class Caller:
    """A token in a world, which calls and translates."""

    def __init__(self, world, settings):
        self.world = world
        self.secret = world.runner.run(world.world.token({**whole_world.SETTINGS, **settings}))

    def call(self, method, path, body=None, headers=()):
        """Call; *body* is JSON, or bytes."""
        content = body if isinstance(body, bytes) else orjson.dumps(body) if body else b""
        headers = {**(whole_world.JSON if path.startswith("/graphql") else {}), **dict(headers)}

        async def run():
            async with self.world.world.client(self.secret) as client:
                return await client.request(method, path, content=content, headers=headers)

        return self.world.runner.run(run())

    def document_of(self, method, path, body=None):
        return self.call(method, path, body, {"Prefer": "graphql"})

    def run(self, translated):
        body = {name: translated[name] for name in ("operationName", "variables")}
        answer = self.call("POST", "/graphql", {**body, "query": translated["document"]})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def rest_of(self, translated):
        body = {name: translated[name] for name in ("operationName", "variables")}
        answer = self.call("POST", "/graphql/rest-of", {**body, "query": translated["document"]})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def fill(self, path, body=None):
        """Fill in ids of what is there."""
        plain, _, query = path.partition("?")
        ids = {**self.world.parameters}
        filled = self.world.url(plain)
        encoded = query.format(**{name: quote(value) for name, value in ids.items()})
        url = f"{filled}?{encoded}" if query else filled
        if isinstance(body, dict):
            text = orjson.dumps(body).decode()
            for name, value in ids.items():
                text = text.replace(f"{{{name}}}", value)
            body = orjson.loads(text)
        return url, body


def known(value):
    """Return *value* without what every answer makes anew, in the same order."""
    if isinstance(value, dict):
        return {
            key: None if key in ANEW and member else known(member) for key, member in value.items()
        }
    return [known(member) for member in value] if isinstance(value, list) else value


def rest_body(result):
    """Return the bytes of a REST body with the members of *result*."""
    kept = {
        name: value for name, value in result.items() if value or name not in OMITTED_WHEN_EMPTY
    }
    return orjson.dumps(known(kept))


def same(answer, result):
    """Compare a REST body with the result of a document, byte for byte."""
    if not isinstance(result, dict):
        return orjson.dumps(known(answer.json())) == orjson.dumps(known(result))
    return orjson.dumps(known(answer.json())) == rest_body(result)


def test_every_row_is_called():
    paths = {path.partition("?")[0] for path in (*READS, *STREAMS)}
    called = {("GET", path) for path in paths} | {
        (method, path.partition("?")[0]) for method, path, _ in WRITES
    }
    called.add(("GET", "/api/access/writes/{id}"))  # of a token whose writes wait
    # Their answers have random cursors and secrets: see tests/rest_compat/changes.
    own = "/api/access/subscriptions"
    called |= {("GET", "/api/access/changes"), ("GET", own), ("POST", own)}
    called |= {("DELETE", own + "/{id}"), ("POST", own + "/{id}/rotate")}

    assert called == {(row.method, row.path) for row in ENDPOINTS}


@pytest.mark.slow
@pytest.mark.parametrize("path", READS)
def test_the_document_of_a_read_answers_the_same(caller, path):
    url, _ = caller.fill(path)
    answer = caller.call("GET", url)
    before = caller.world.upstream_calls()
    translated = caller.document_of("GET", url)
    named = caller.call("GET", f"/api/access/graphql-of?method=GET&path={quote(url, safe='')}")

    assert caller.world.upstream_calls() == before
    if answer.status_code in {403, 422} and translated.status_code != 200:
        assert translated.json()["error"] == named.json()["error"] == answer.json()["error"]
        return
    assert named.content == translated.content
    assert translated.headers["Preference-Applied"] == "graphql"
    document = translated.json()
    assert caller.secret not in document["explorer"]
    result = caller.run(document)
    if answer.status_code >= 400:
        assert result["errors"][0]["extensions"]["httpStatus"] == answer.status_code
    else:
        assert same(answer, result["data"]["result"])

    before = caller.world.upstream_calls()
    back = caller.rest_of(document)["call"]
    assert caller.world.upstream_calls() == before
    again = caller.call(back["method"], back["path"])
    assert again.status_code == answer.status_code
    if answer.status_code < 400:
        assert orjson.dumps(known(again.json())) == orjson.dumps(known(answer.json()))


@pytest.mark.slow
@pytest.mark.parametrize("token", TOKENS)
def test_the_documents_of_writes_do_the_same(world_template, tmp_path, token):
    """In two worlds that are alike: by REST in one, by documents and back in the other."""
    with (
        whole_world.opened(world_template, tmp_path / "rest") as first,
        whole_world.opened(world_template, tmp_path / "graphql") as second,
    ):
        by_rest, by_document = (Caller(world, TOKENS[token]) for world in (first, second))
        for method, path, body in WRITES:
            url, content = by_rest.fill(path, body)
            answer = by_rest.call(method, url, content)
            url, content = by_document.fill(path, body)
            before = second.upstream_calls()
            translated = by_document.document_of(method, url, content)
            assert second.upstream_calls() == before, path
            if translated.status_code != 200:
                assert translated.status_code == answer.status_code, (path, translated.text)
                assert translated.json()["error"] == answer.json()["error"]
                continue
            document = translated.json()
            back = by_document.rest_of(document)["call"]
            assert (back["method"], back["status"]) == (method, row_of(method, path).status)
            assert (
                by_document.document_of(method, back["path"], bytes_of(back)).json() == document
            ), path
            assert second.upstream_calls() == before, path
            result = by_document.run(document)
            if answer.status_code >= 400:
                status = result["errors"][0]["extensions"]["httpStatus"]
                assert status == answer.status_code, (path, answer.text, result)
            elif answer.content:
                assert stable(answer.json()) == stable(result["data"]["result"]), path
            else:
                assert "errors" not in result, path


def row_of(method, path):
    plain = path.partition("?")[0]
    return next(row for row in ENDPOINTS if (row.method, row.path) == (method, plain))


def bytes_of(call):
    if call["contentBase64"] is not None:
        return base64.b64decode(call["contentBase64"])
    return call["body"]


def timeless(value):
    """Return *value* with a word for every time: two worlds write at different seconds."""
    if isinstance(value, dict):
        return {key: timeless(member) for key, member in value.items()}
    if isinstance(value, list):
        return [timeless(member) for member in value]
    return "time" if isinstance(value, str) and TIME.fullmatch(value) else value


def stable(body):
    """Return what two worlds have in common: ids and times of what is made are their own."""
    return [
        (name, bool(value) if name.endswith("Id") else list(value) if name == "item" else value)
        for name, value in timeless(known(body)).items()
        if value or name not in OMITTED_WHEN_EMPTY
    ]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ('{ person(email: "a@b.example") { email } }', "person"),
        ("{ a: emails { hasMore } b: calendars { accessInfo } }", "calendars"),
        ("{ emails { emails { thread { id } } } }", "emails.emails.thread"),
        ("{ calendars @skip(if: false) { accessInfo } }", "calendars"),
        ("{}", ""),
        ("{ ... on Query {} }", ""),
        ("mutation {}", ""),
    ],
)
def test_a_document_beyond_the_table_names_what_prevents_it(world, query, field):
    caller = Caller(world, {})
    answer = caller.rest_of({"document": query, "operationName": None, "variables": {}})

    assert answer["call"] is None
    assert answer["preventedBy"] == field
    assert answer["message"]


@pytest.mark.parametrize(
    ("query", "path", "also"),
    [
        (
            "{ calendars { accessInfo } }",
            "/api/access/calendar/calendars",
            ["calendars.calendars", "calendars.authWarnings"],
        ),
        (
            "{ taskProviders { status code: providerCode connectionId @skip(if: true) } }",
            "/api/access/tasks/providers",
            ["taskProviders.providerDisplayName"],
        ),
        (
            "{ taskProviders { status providerCode providerDisplayName connectionId } }",
            "/api/access/tasks/providers",
            [],
        ),
    ],
)
def test_a_document_that_selects_less_has_the_nearest_call(world, query, path, also):
    answer = Caller(world, {}).rest_of({"document": query, "operationName": None, "variables": {}})

    assert (answer["call"]["method"], answer["call"]["path"]) == ("GET", path)
    assert (answer["preventedBy"], answer["message"]) == (None, None)
    assert answer["also"] == also


def test_what_the_nearest_call_of_the_first_starter_returns_besides(world):
    query = "{ emails(limit: 5) { emails { id subject from { email } } hasMore } }"
    answer = Caller(world, {}).rest_of({"document": query, "operationName": None, "variables": {}})

    assert answer["call"]["path"] == "/api/access/email/messages?limit=5"
    also = set(answer["also"])
    assert {"emails.emails.body", "emails.emails.from.name", "emails.totalCount"} < also
    assert also.isdisjoint({"emails.emails.id", "emails.emails.from.email", "emails.hasMore"})


def test_an_argument_without_a_parameter_prevents_it(world):
    caller = Caller(world, {})
    translated = caller.document_of("GET", f"{EMAIL}/messages").json()
    text = translated["document"].replace("q: $q", 'participant: "ana"').replace("$q: String", "")
    answer = caller.rest_of({**translated, "document": text})

    assert (answer["call"], answer["preventedBy"]) == (None, "emails(participant:)")


def test_names_and_order_do_not_matter(world):
    caller = Caller(world, {})
    query = """
        query Mine { mine: taskProviders { status connectionId ...Names } }
        fragment Names on TaskProvider { providerDisplayName providerCode }
    """
    answer = caller.rest_of({"document": query, "operationName": "Mine", "variables": {}})

    assert answer["call"]["path"] == "/api/access/tasks/providers"
    assert answer["call"]["curl"] == (
        f'curl -H "Authorization: Bearer $TOKEN" {worlds.ORIGIN}/api/access/tasks/providers'
    )


def test_arguments_may_be_literals_and_variables(world):
    caller = Caller(world, {})
    translated = caller.document_of("GET", f"{EMAIL}/messages?q=a%20b&limit=2").json()
    text = translated["document"].replace("$q: String", "")
    text = text.replace("q: $q", 'q: "a \\"b\\" c"')
    answer = caller.rest_of({**translated, "document": text, "variables": {"limit": 3}})

    assert answer["call"]["path"] == f"{EMAIL}/messages?q=a+%22b%22+c&limit=3"


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("?method=PUT&path=/api/access/email/messages", 400, "INVALID_PARAMETER"),
        ("?path=/api/operators", 400, "INVALID_PARAMETER"),
        ("?path=/api/access/graphql-of", 400, "INVALID_PARAMETER"),
        ("?path=/api/access/%2567raphql-of%3Fpath=/api/access/token", 400, "INVALID_PARAMETER"),
        ("?path=/api/%2561ccess/graphql%252Dof%3Fpath=/api/access/token", 400, "INVALID_PARAMETER"),
        ("?path=other/api/access/token", 400, "INVALID_PARAMETER"),
        ("?path=/api/access%252Ftoken", 400, "INVALID_PARAMETER"),
        ("", 400, "INVALID_PARAMETER"),
        ("?path=/api/access/nothing", 404, "NOT_FOUND"),
        ("?path=/api/access/email/messages%3Flimit%3Dx", 400, "INVALID_PARAMETER"),
        ("?path=/api/access/token&more=1", 400, "INVALID_PARAMETER"),
    ],
)
def test_what_names_no_call_is_refused(world, path, status, error):
    caller = Caller(world, {})
    answer = caller.call("GET", f"/api/access/graphql-of{path}")

    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_a_path_is_compared_as_the_router_reads_it(world):
    caller = Caller(world, {})
    plain, encoded = (
        caller.call("GET", f"/api/access/graphql-of?path={path}").json()
        for path in ("/api/access/token", "/api/%2561ccess/t%256Fken")
    )

    assert encoded == plain
    assert plain["operationName"] == "GetAccessToken"


@pytest.mark.parametrize("path", ["/api/access/graphql-of", "/graphql/rest-of"])
def test_a_token_is_needed(world, path):
    method = "POST" if "rest-of" in path else "GET"
    answer = generated.call(world, "agw_nobody", method, path, {"query": "{"})

    assert (answer.status_code, answer.json()["reason"]) == (401, "UNKNOWN_TOKEN")


def test_a_body_may_be_named_too(world):
    caller = Caller(world, {})
    body = quote(orjson.dumps({"markAsRead": True}).decode())
    url = quote(caller.fill(EMAIL + "/messages/{emailId}")[0], safe="")
    answer = caller.call("GET", f"/api/access/graphql-of?method=PATCH&path={url}&body={body}")

    assert answer.json()["variables"]["input"] == {"markAsRead": True}
    assert answer.json()["operationName"] == "ModifyEmail"


def test_a_file_too_large_for_a_document_is_refused(world):
    caller = Caller(world, {})
    url = f"{EMAIL}/attachments?fileName=oars.txt"
    answer = caller.document_of("POST", url, b"o" * (40 * 1024 + 1))

    assert (answer.status_code, answer.json()["error"]) == (413, "PAYLOAD_TOO_LARGE")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("{", "GRAPHQL_PARSE_FAILED"),
        ("{" + "a " * 2_000 + "}", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        (None, "VALIDATION_ERROR"),
    ],
)
def test_a_document_that_is_none_has_no_call(world, query, code):
    caller = Caller(world, {})
    answer = caller.call("POST", "/graphql/rest-of", {"query": query})

    assert (answer.status_code, answer.json()["error"]) == (400, code)
