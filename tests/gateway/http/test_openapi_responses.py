"""The management API answers what its description says, member by member, and nothing else."""

import re

import httpx
import jsonschema_rs
import orjson
import pytest
import pytest_asyncio
from closed_schemas import closed_responses
from held_rows import held_row
from schemathesis import openapi
from schemathesis.core.failures import Failure
from starlette.responses import JSONResponse

from gateway.operations import operators
from policy.settings import DEFAULTS, READERS, InvalidSetting
from providers.http.failed_responses import FailedResponse

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

TOKENS, RULES = "/api/access-tokens", "/api/access-tokens/{tokenId}/collab-rules"
MESSAGES = "/api/access/email/messages"
RULE = {"ruleType": "mime_type", "pattern": "text/*", "action": "allow", "description": "notes"}
DOCUMENT = {
    "document": "query ($limit: Int) { emails(limit: $limit) { hasMore } }",
    "method": "GET",
    "path": "/api/saved/inbox",
}
SETTINGS = {
    "emailAccessEnabled": True,
    "timeframePastDays": 30,
    "allowedCalendarIds": [1, 2],
    "taskBoards": [{"boardId": "7", "provider": "BOARDS"}, {"boardId": "8", "allowCreate": False}],
    "defaultTaskProvider": "PROJECTS",
    "quota": {"perMinute": 60},
}


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def document(client):
    return (await client.get("/api/management/openapi.json")).json()


class Asking:
    """Asks as the admin, and holds every answer to its description."""

    def __init__(self, admin, document):
        self._admin = admin
        self._described = openapi.from_dict(document)
        self.called = set()

    async def __call__(self, method, path, body=None, query=None, **named):
        answer = await self._admin.request(method, path.format(**named), json=body, params=query)
        assert answer.status_code < 300, answer.text
        self._described[path][method].validate_response(answer)
        self.called.add((method.lower(), path))
        return orjson.loads(answer.content or b"null")


@pytest.fixture
def ask(admin, document):
    return Asking(admin, document)


async def search_save_documents_and_read_logs(ask, gateway):
    """Search for servers, save a document, and read the log and the answer of a failed request."""
    await search_for_servers(ask)
    await save_and_remove_a_document(ask)
    await register_and_remove_a_client(ask)
    logged = (await ask("GET", "/api/decisions"))["decisions"]
    assert {row["actor"] for row in logged} == {None, "admin"}
    failed = FailedResponse(upstream="COLLAB", connection=None, status=None)
    gateway.services.provider_errors.write("r", "PROVIDER_ERROR", [failed])
    await ask("GET", "/api/provider-errors/{requestId}", requestId="r")


async def save_and_remove_a_document(ask):
    await ask("PUT", "/api/documents/{name}", DOCUMENT, name="inbox")
    await ask("GET", "/api/documents")
    await ask("GET", "/api/documents/{name}", name="inbox")
    await ask("DELETE", "/api/documents/{name}", name="inbox")


async def register_and_remove_a_client(ask):
    new = {"name": "App", "redirectUris": ["https://app.example/cb"], "hasSecret": True}
    client = await ask("POST", "/api/oauth-clients", new)
    await ask("GET", "/api/oauth-clients")
    await ask("DELETE", "/api/oauth-clients/{clientId}", clientId=client["clientId"])
    token = (await ask("GET", TOKENS))["tokens"][0]
    await ask("POST", "/api/access-tokens/{tokenId}/sign-in-links", tokenId=token["id"])


async def reconnect(ask, connection):
    await ask("POST", "/api/connections/{connectionId}/reconnect", **connection)
    await ask("POST", "/api/connections/{connectionId}/reconnect-link", {"hours": 1}, **connection)


async def decide_about_held_writes(ask, gateway, token, operator):
    """Release a held write, reject another one, and name who may."""
    held = {"token_id": token["tokenId"], "operator_id": operator["id"]}
    async with gateway.services.database.writing() as session:
        session.add_all(held_row(gateway.services.keyring, name, **held) for name in ("a", "b"))
    await ask("GET", "/api/held-writes")
    await ask("GET", "/api/held-writes/{writeId}", writeId="a")
    await ask("POST", "/api/held-writes/{writeId}/release", writeId="a")
    await ask("POST", "/api/held-writes/{writeId}/reject", {"reason": "No."}, writeId="b")
    approver = await ask("POST", "/api/approvers", {"name": "Bo", "operatorIds": [operator["id"]]})
    await ask("GET", "/api/approvers")
    await ask("DELETE", "/api/approvers/{approverId}", approverId=approver["id"])
    await tell_of_held_writes(ask, operator)


async def tell_of_held_writes(ask, operator):
    """Add a notice, give it a new secret, and remove it."""
    path, new = "/api/held-write-notices", {"url": "https://hooks.example/x"}
    notice = await ask("POST", path, {**new, "operatorId": operator["id"]})
    await ask("GET", path)
    await ask("POST", f"{path}/{{noticeId}}/rotate", noticeId=notice["id"])
    await ask("DELETE", f"{path}/{{noticeId}}", noticeId=notice["id"])


async def search_for_servers(ask):
    """Search at addresses where nothing listens."""
    nowhere = {"baseUrl": "imaps://127.0.0.1:1", "submissionUrl": "smtps://127.0.0.1:1"}
    nowhere |= {"accountEmail": "ada@example.org", "calendarUrl": "https://127.0.0.1:1"}
    discovered = await ask("POST", "/api/connections/discover", nowhere)
    assert discovered["mail"] is None
    assert discovered["complete"] is True


async def change_shared(ask, connection):
    """Change a connection, and share a mailbox on another one."""
    await ask("PATCH", "/api/connections/{connectionId}", {"status": "active"}, **connection)
    owner = await ask("GET", "/api/connections/{connectionId}", **connection)
    members = ("operatorId", "resourceId", "kind", "accountEmail")
    new = {name: owner[name] for name in members} | {"provider": "PROVIDER_B"}
    base = {"connectionId": (await ask("POST", "/api/connections", new))["id"]}
    team = {"accountEmail": "team@example.org"}
    await ask("POST", "/api/connections/{connectionId}/shared", team, **base)
    await ask("DELETE", "/api/connections/{connectionId}", **base)


async def test_every_response_matches_its_schema(ask, client, gateway, document):
    person = {"email": "ada@example.org", "displayName": "Ada"}
    operator = await ask("POST", "/api/operators", person)
    await ask("POST", "/api/operators", person)
    page = await ask("GET", "/api/operators", query={"limit": 1})
    assert page["nextPageToken"] is not None
    own = {"operatorId": operator["id"]}
    await ask("GET", "/api/operators/{operatorId}", **own)
    await ask("PATCH", "/api/operators/{operatorId}", {"displayName": "Ada L."}, **own)

    resource = await ask(
        "POST", "/api/resources", {"name": "main", "operatorIds": [operator["id"]]}
    )
    await ask("GET", "/api/resources")
    main = {"resourceId": resource["id"]}
    await ask("GET", "/api/resources/{resourceId}", **main)
    await ask("PATCH", "/api/resources/{resourceId}", {"name": "all"}, **main)

    account = {**main, **own, "accountEmail": "ada@example.org", "grantedScopes": ["Mail.Send"]}
    mailbox = {**account, "kind": "email", "provider": "PROVIDER_A"}
    connection = {"connectionId": (await ask("POST", "/api/connections", mailbox))["id"]}
    content = {**account, "kind": "collab", "provider": "COLLAB", "mode": "selected_sites"}
    await ask("POST", "/api/connections", {**content, "selectedSiteIds": ["s"]})
    await reconnect(ask, connection)
    for action in ("test", "check"):
        await ask("POST", f"/api/connections/{{connectionId}}/{action}", **connection)
    listed = (await ask("GET", "/api/connections"))["connections"]
    assert [each["status"] for each in listed] == ["needs_reauth", "active"]
    assert [each["reconnectUrl"] is None for each in listed] == [False, True]
    await change_shared(ask, connection)

    new = {"name": "reports", **own, "resourceIds": [resource["id"]], "settings": SETTINGS}
    made = await ask("POST", TOKENS, {**new, "expiresAt": "2100-01-01"})
    token = {"tokenId": made["id"]}
    made = await ask("POST", f"{TOKENS}/{{tokenId}}/rotate", {}, **token)
    await ask("GET", TOKENS)
    await ask("GET", f"{TOKENS}/{{tokenId}}", **token)
    await ask("PATCH", f"{TOKENS}/{{tokenId}}", {"settings": {"quota": None}}, **token)

    rule = {**token, "ruleId": (await ask("POST", RULES, RULE, **token))["id"]}
    await ask("GET", RULES, **token)
    await ask("GET", f"{RULES}/{{ruleId}}", **rule)
    await ask("PATCH", f"{RULES}/{{ruleId}}", {"description": None}, **rule)
    await ask("DELETE", f"{RULES}/{{ruleId}}", **rule)
    await ask("PUT", RULES, {"rules": [RULE]}, **token)

    # A call that is answered by nobody, and one that is refused.
    for path in (MESSAGES, "/api/access/collab/sites"):
        await client.get(path, headers={"Authorization": f"Bearer {made['token']}"})
        await ask("POST", f"{TOKENS}/{{tokenId}}/explain", {"method": "GET", "path": path}, **token)
    several = {
        "document": "{ emails { hasMore } self: accessToken { id } collabSites { hasMore } }"
    }
    explanation = await ask("POST", f"{TOKENS}/{{tokenId}}/explain", several, **token)
    assert [field["key"] for field in explanation["fields"]] == ["emails", "self", "collabSites"]
    await decide_about_held_writes(ask, gateway, token, operator)
    await search_save_documents_and_read_logs(ask, gateway)

    await ask("DELETE", f"{TOKENS}/{{tokenId}}", **token)
    assert (await ask("GET", f"{TOKENS}/{{tokenId}}", **token))["status"] == "revoked"
    await ask("DELETE", "/api/connections/{connectionId}", **connection)
    await ask("DELETE", "/api/resources/{resourceId}", **main)
    await ask("DELETE", "/api/operators/{operatorId}", **own)

    assert ask.called == {
        (method, path)
        for path, operations in document["paths"].items()
        if not path.startswith("/api/access/")
        for method in operations
    }


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        pytest.param({"more": None}, "'more' was unexpected", id="one more"),
        pytest.param({"email": ...}, '"email" is a required property', id="one missing"),
        pytest.param({"email": None}, 'null is not of type "string"', id="another type"),
        pytest.param({"createdAt": "today"}, '"today" is not a "date-time"', id="another form"),
    ],
)
async def test_an_undescribed_member_is_noticed(ask, monkeypatch, change, wrong):
    create = operators.create

    async def changed(session, new):
        members = {**(await create(session, new)).as_json(), **change}
        described = {name: value for name, value in members.items() if value is not ...}
        return JSONResponse(described, status_code=201)

    monkeypatch.setattr(operators, "create", changed)

    with pytest.raises(Failure, match=wrong):
        await ask("POST", "/api/operators", {"email": "ada@example.org", "displayName": "Ada"})


async def test_operations_with_a_body_describe_what_is_answered_to_a_late_or_large_one(document):
    described = {
        (path, method): {"408", "413"} <= operation["responses"].keys()
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "requestBody" in operation
    }

    assert set(described.values()) == {True}
    assert (TOKENS, "post") in described


async def test_a_closed_description_has_no_room_for_more_members(document):
    closed = openapi.from_dict(closed_responses(document))["/api/operators"]["POST"]
    error = {"error": None, "message": "No.", "requestId": "r"}

    async def check(body):
        transport = httpx.MockTransport(
            lambda _: httpx.Response(
                401,
                stream=httpx.ByteStream(orjson.dumps(body)),
                headers={"content-type": "application/json"},
            )
        )
        async with httpx.AsyncClient(transport=transport) as client:
            closed.validate_response(await client.post("http://x.test"))

    await check(error)
    with pytest.raises(Failure, match="Unevaluated properties"):
        await check({**error, "stack": "…"})


async def test_response_members_are_in_schema_order(ask, document, token):
    managed = await ask("GET", f"{TOKENS}/{{tokenId}}", tokenId=token["id"])

    described = document["components"]["schemas"]
    assert list(managed) == list(described["ManagedAccessToken"]["properties"])
    assert list(managed["settings"]) == list(described["TokenSettings"]["properties"])


async def test_every_member_of_the_management_api_has_a_description(document):
    """Each component that its answers lead to is closed, and says a sentence of every member."""
    described = document["components"]["schemas"]
    reached = set()

    def follow(schema):
        match schema:
            case {"$ref": str(reference)}:
                name = reference.rpartition("/")[2]
                if name not in reached:
                    reached.add(name)
                    follow(described[name])
            case dict():
                for part in schema.values():
                    follow(part)
            case list():
                for part in schema:
                    follow(part)

    for path, operations in document["paths"].items():
        if not path.startswith("/api/access/"):
            follow([operation["responses"].get("200") for operation in operations.values()])
            follow([operation["responses"].get("201") for operation in operations.values()])
    objects = set()
    for name in reached:
        component = described[name]
        if "enum" in component:
            continue
        objects.add(name)
        assert component["additionalProperties"] is False
        assert component["description"].endswith(".")
        for member in component["properties"].values():
            assert member["description"].endswith(".")
    assert len(objects) == 55


async def test_operations_bodies_and_enumerations_have_names_for_clients(document):
    operations = [row for methods in document["paths"].values() for row in methods.values()]
    names = [operation["operationId"] for operation in operations]
    bodies = {
        row["operationId"]: row["requestBody"]["content"]["application/json"]["schema"]["$ref"]
        for row in operations
        if "requestBody" in row
    }
    schemas = document["components"]["schemas"]

    verb = "create|discover|list|get|change|put|replace|delete|revoke|rotate|explain"
    verb += "|test|check|reconnect|release|reject"
    assert [name for name in names if not re.fullmatch(rf"({verb})([A-Z][a-z]+)+", name)] == []
    assert len(set(names)) == len(names)
    assert [name for name in schemas if not re.fullmatch(r"([A-Z][a-z]+)+", name)] == []
    assert {
        name: reference
        for name, reference in bodies.items()
        if reference != f"#/components/schemas/{name[0].upper()}{name[1:]}Request"
    } == {}
    tags = {tag for row in operations for tag in row["tags"]}
    assert tags == {tag["name"] for tag in document["tags"]}
    code = {"anyOf": [{"$ref": "#/components/schemas/ErrorCode"}, {"type": "null"}]}
    assert schemas["Decision"]["properties"]["code"]["anyOf"] == code["anyOf"]
    assert "RATE_LIMITED" in schemas["ErrorCode"]["enum"]


# Something of every form that a setting takes or refuses.
PROBES = [
    *(True, 0, 1, -1, 36_500, 36_501, 1.5, "", "all", "view_only", "strict", "visible"),
    *("BOARDS", "draft", "effect", "graph"),
    *([], ["all"], ["read_only"], ["view_email"], ["view_items"], ["list_files"], ["write_file"]),
    *(["subject"], ["title"], ["name"], ["unknown"], [1], [-1], [2**63 - 1], [2**63], [True]),
    *({}, {"perMinute": 1}, {"perMinute": -1}, {"perDay": 10**9 + 1}, {"perWeek": 1}, [{}]),
    *([{"boardId": "1"}], [{"boardId": ""}], [{"boardId": "b" * 256}], [{"boardId": 1}]),
    [{"boardId": "1", "provider": "BOARDS", "allowCreate": False}],
    [{"boardId": "1", "provider": "PROVIDER_A"}],
    [{"boardId": "1", "more": 1}],
    ["x"] * 1001,
]


@pytest.mark.parametrize("setting", DEFAULTS)
async def test_a_setting_is_described_as_it_is_read(document, setting):
    """The described setting accepts what its reader accepts, and stored values fit the response."""
    sent = validator(document, "TokenSettingsChange", setting)
    stored = validator(document, "TokenSettings", setting)

    assert stored.is_valid(DEFAULTS[setting])
    assert sent.is_valid(None)
    taken = [value for value in PROBES if taken_by(READERS[setting], value, stored)]
    assert taken == [value for value in PROBES if sent.is_valid(value)]
    assert taken


def taken_by(reader, value, stored):
    try:
        read = reader(value)
    except InvalidSetting:
        return False
    assert stored.is_valid(read)
    return True


def validator(document, component, member):
    described = document["components"]["schemas"]
    schema = described[component]["properties"][member]
    return jsonschema_rs.Draft202012Validator(
        {**schema, "components": {"schemas": described}}, validate_formats=True
    )
