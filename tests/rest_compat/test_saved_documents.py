"""A saved document is an endpoint of its own, run by the machinery of the documented calls."""

import hashlib

import pytest

MESSAGES = "/api/access/email/messages"
LIST = """query Inbox($q: String, $limit: Int = 5) {
  emails(q: $q, limit: $limit) { emails { id subject body } nextPageToken accessInfo }
}"""
READ = "query Read($emailId: String!) { email(emailId: $emailId) { id subject } }"
SEND = """mutation Send($input: SendEmailInput!) {
  sendEmail(input: $input) { success emailId held }
}"""
DELETE = "mutation Drop($emailId: String!) { deleteEmail(emailId: $emailId) { success } }"
INBOX = {"document": LIST, "method": "GET", "path": "/api/saved/inbox"}
MAIL = {"document": READ, "method": "GET", "path": "/api/saved/mail/{emailId}"}
SENDING = {"document": SEND, "method": "POST", "path": "/api/saved/send", "status": 201}
DROPPING = {
    "document": DELETE,
    "method": "DELETE",
    "path": "/api/saved/mail/{emailId}",
    "status": 204,
}
MESSAGE = {
    "to": [{"email": "anna@work.example"}],
    "subject": "Hi",
    "body": "Hello.",
    "bodyType": "text",
}


@pytest.fixture
async def client(world):
    async with world.client(await world.token({})) as client:
        world.forget_calls()
        yield client


async def save(world, name, body):
    response = await world.admin.put(f"/api/documents/{name}", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def graphql(client, text, **variables):
    response = await client.post("/graphql", json={"query": text, "variables": variables})
    return next(iter(response.json()["data"].values()))


async def test_a_query_answers_as_its_root_field_does(world, client):
    await save(world, "inbox", INBOX)

    response = await client.get("/api/saved/inbox", params={"q": "lease", "limit": 2})

    assert response.status_code == 200
    listing = await graphql(client, LIST, q="lease", limit=2)
    assert listing.pop("accessInfo") is None
    assert response.json() == listing
    assert [mail["subject"] for mail in listing["emails"]] == ["Lease for the flat"]
    limited = await client.get("/api/saved/inbox", params={"limit": 99})
    assert limited.headers["x-applied-limit"] == "50"


async def test_the_path_fills_a_variable_and_a_literal_segment_goes_first(world, client):
    await save(world, "mail", MAIL)
    await save(world, "latest", {**INBOX, "path": "/api/saved/mail/latest"})

    read = await client.get(f"/api/saved/mail/{world.id('lease')}")
    latest = await client.get("/api/saved/mail/latest?limit=1")

    assert read.json() == {"id": world.id("lease"), "subject": "Lease for the flat"}
    assert set(latest.json()) == {"emails", "nextPageToken"}
    assert (await client.head("/api/saved/mail/latest")).status_code == 200


async def test_a_mask_hides_in_a_saved_document(world):
    await save(world, "inbox", {**INBOX, "document": LIST})
    token = await world.token({"visibleEmailFields": ["from"]})
    async with world.client(token) as client:
        answer = (await client.get("/api/saved/inbox?limit=1")).json()
        listing = (await client.get(f"{MESSAGES}?limit=1")).json()

    assert answer["emails"][0]["subject"] is None
    assert answer["accessInfo"] == listing["accessInfo"]


async def test_a_mutation_runs_once_per_key_whichever_call_it_is_sent_by(world, client):
    await save(world, "send", SENDING)
    key = {"Idempotency-Key": "rent-2026-11"}

    first = await client.post("/api/saved/send", json=MESSAGE, headers=key)
    again = await client.post("/api/saved/send", json=MESSAGE, headers=key)
    documented = await client.post(f"{MESSAGES}/send", json=MESSAGE, headers=key)
    other = await client.post("/api/saved/send", json={**MESSAGE, "body": "No."}, headers=key)

    assert first.status_code == 201
    assert first.json() == {"success": True, "emailId": documented.json()["emailId"]}
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotent-replayed"] == "true"
    assert documented.headers["idempotent-replayed"] == "true"
    assert (other.status_code, other.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert len(world.sent("provider-a")) + len(world.sent("provider-b")) == 1


async def test_a_mutation_has_a_dry_run_and_a_status_of_its_own(world, client):
    await save(world, "send", SENDING)
    await save(world, "drop", DROPPING)
    path = f"/api/saved/mail/{world.id('lease')}"

    dry = await client.delete(path, headers={"Prefer": "dry-run"})
    assert (dry.status_code, dry.headers["preference-applied"]) == (200, "dry-run")
    assert dry.json()["dryRun"] is True
    assert [call["method"] for call in world.calls() if call["method"] != "GET"] == []
    effect = {"If-Effect": dry.json()["effect"]["digest"]}
    done = await client.delete(path, headers=effect)
    assert (done.status_code, done.content) == (204, b"")


async def test_draft_mode_answers_202(world):
    await save(world, "send", SENDING)
    async with world.client(await world.token({"sendMode": "draft"})) as client:
        response = await client.post("/api/saved/send", json=MESSAGE)

    assert (response.status_code, response.json()["held"]) == (202, "draft")
    assert not world.sent("provider-a")
    assert not world.sent("provider-b")


REFUSED = [
    ({"emailAccessEnabled": False}, 422, "EMAIL_NOT_ENABLED"),
    ({"allowedEmailOperations": ["search_emails"]}, 403, "OPERATION_NOT_ALLOWED"),
]


@pytest.mark.parametrize(("settings", "status", "code"), REFUSED, ids=lambda value: str(value)[:40])
async def test_the_gates_refuse_as_for_the_documented_call(world, settings, status, code):
    await save(world, "send", SENDING)
    async with world.client(await world.token(settings)) as client:
        world.forget_calls()
        saved = await client.post("/api/saved/send", content=b"no json")
        documented = await client.post(f"{MESSAGES}/send", content=b"no json")

    body, expected = saved.json(), documented.json()
    assert (saved.status_code, body["error"]) == (status, code)
    assert {name: expected[name] for name in body if name != "requestId"} == {
        name: value for name, value in body.items() if name != "requestId"
    }
    assert world.calls() == []


async def test_parameters_and_bodies_are_checked_as_those_of_the_table(world, client):
    await save(world, "inbox", INBOX)
    await save(world, "send", SENDING)

    text = await client.get("/api/saved/inbox?limit=many")
    strict = await client.get("/api/saved/inbox?colour=red", headers={"Prefer": "handling=strict"})
    lenient = await client.get("/api/saved/inbox?colour=red&limit=1")
    body = await client.post("/api/saved/send", json={**MESSAGE, "colour": "red"})

    assert (text.status_code, text.json()["error"]) == (400, "INVALID_PARAMETER")
    assert text.json()["details"] == [{"field": "limit", "message": "It must be an integer."}]
    assert (strict.status_code, strict.json()["details"][0]["field"]) == (400, "colour")
    assert (lenient.status_code, lenient.headers["x-ignored-parameters"]) == (200, "colour")
    assert (body.status_code, body.json()["details"][0]["field"]) == (400, "colour")


async def test_a_call_names_its_document_with_prefer_graphql(world, client):
    await save(world, "inbox", INBOX)

    answer = await client.get("/api/saved/inbox?limit=2", headers={"Prefer": "graphql"})
    named = await client.get(
        "/api/access/graphql-of", params={"path": "/api/saved/inbox?limit=2", "method": "GET"}
    )

    assert answer.json()["document"] == LIST
    assert answer.json()["variables"] == {"limit": 2}
    assert named.json() == answer.json()
    assert world.calls() == []


@pytest.mark.slow
async def test_a_removed_or_changed_document_is_gone_at_the_next_request(world, client):
    await save(world, "inbox", INBOX)
    assert (await client.get("/api/saved/inbox")).status_code == 200

    await save(world, "inbox", {**INBOX, "path": "/api/saved/mails"})
    assert (await client.get("/api/saved/inbox")).status_code == 404
    assert (await client.get("/api/saved/mails")).status_code == 200
    assert (await world.admin.delete("/api/documents/inbox")).status_code == 204
    world.forget_calls()
    gone = await client.get("/api/saved/mails")
    assert (gone.status_code, gone.json()["error"]) == (404, "NOT_FOUND")
    assert world.calls() == []


async def test_an_unknown_path_or_method_is_told_to_valid_tokens_only(world, client):
    await save(world, "inbox", INBOX)

    wrong = await client.post("/api/saved/inbox")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    for path in ("/api/saved/inbox", "/api/saved/none"):
        async with world.client() as stranger:
            assert (await stranger.get(path)).status_code == 401


async def test_the_management_api_lists_reads_replaces_and_removes(world):
    made = await world.admin.put("/api/documents/inbox", json=INBOX)
    digest = hashlib.sha256(LIST.encode()).hexdigest()
    listed = {
        "name": "inbox",
        "documentId": digest,
        "method": "GET",
        "path": "/api/saved/inbox",
        "status": 200,
        "description": None,
    }
    assert made.status_code == 200
    body = made.json()
    times = {name: body.pop(name) for name in ("createdAt", "updatedAt")}
    assert body == {
        **listed,
        "document": LIST,
        "rootField": "emails",
        "surface": "email",
        "variables": [
            {"name": "q", "type": "String", "filledBy": "query", "required": False},
            {"name": "limit", "type": "Int", "filledBy": "query", "required": False},
        ],
        "problem": None,
    }
    await save(world, "mail", MAIL)
    page = (await world.admin.get("/api/documents?limit=1")).json()
    assert page["documents"] == [{**listed, **times}]
    rest = (await world.admin.get(f"/api/documents?pageToken={page['nextPageToken']}")).json()
    assert [row["name"] for row in rest["documents"]] == ["mail"]
    changed = await world.admin.put("/api/documents/inbox", json={**INBOX, "description": "Mails"})
    assert (changed.status_code, changed.json()["description"]) == (200, "Mails")
    read = (await world.admin.get("/api/documents/mail")).json()
    assert read["variables"] == [
        {"name": "emailId", "type": "String!", "filledBy": "path", "required": True}
    ]
    assert (await world.admin.delete("/api/documents/mail")).status_code == 204
    for method in ("get", "delete"):
        missing = await world.admin.request(method, "/api/documents/mail")
        assert (missing.status_code, missing.json()["error"]) == (404, "DOCUMENT_NOT_FOUND")
    async with world.client(await world.token({})) as client:
        assert (await client.get("/api/documents")).status_code == 403


UNSAVABLE = [
    ({"document": "{ emails {"}, "GRAPHQL_PARSE_FAILED", "document"),
    ({"document": "{ emails { colour } }"}, "GRAPHQL_VALIDATION_FAILED", "document"),
    ({"document": f"{READ} query B {{ accessToken {{ id }} }}"}, "GRAPHQL_VALIDATION_FAILED", None),
    ({"document": "{ a: accessToken { id } b: accessToken { id } }"}, None, "document"),
    ({"document": "{ __typename }"}, "GRAPHQL_VALIDATION_FAILED", "document"),
    ({"document": "{ accessToken @skip(if: true) { id } }"}, None, "document"),
    ({"document": "subscription { a }"}, "GRAPHQL_VALIDATION_FAILED", "document"),
    ({"document": "{ emails { emails { id " + "id " * 2000 + "} } }"}, None, "document"),
    ({"document": "#" * 8193}, "VALIDATION_ERROR", "document"),
    ({"method": "POST"}, "VALIDATION_ERROR", "method"),
    ({"method": "PUT"}, "VALIDATION_ERROR", "method"),
    ({"path": "/api/access/inbox"}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved/"}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved/.."}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved/a b"}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved" + "/a" * 9}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved/{q}/{q}"}, "VALIDATION_ERROR", "path"),
    ({"path": "/api/saved/{colour}"}, "VALIDATION_ERROR", "path"),
    ({"status": 204}, "VALIDATION_ERROR", "status"),
    ({"colour": "red"}, "VALIDATION_ERROR", "colour"),
    ({**SENDING, "method": "GET", "status": 200}, "VALIDATION_ERROR", "method"),
]


@pytest.mark.slow
async def test_what_cannot_be_saved_is_refused_by_name(world):
    for change, code, field in UNSAVABLE:
        response = await world.admin.put("/api/documents/inbox", json={**INBOX, **change})
        body = response.json()

        assert response.status_code == 400, change
        assert code is None or body["error"] == code, change
        assert field is None or body["details"][0]["field"] == field, change
    assert (await world.admin.get("/api/documents")).json()["documents"] == []


async def test_names_and_paths_are_unique_and_a_name_has_a_form(world):
    await save(world, "mail", MAIL)
    other = await world.admin.put(
        "/api/documents/other",
        json={**MAIL, "document": READ.replace("$emailId", "$id"), "path": "/api/saved/mail/{id}"},
    )
    bad = await world.admin.put("/api/documents/Mail_1", json=MAIL)

    assert (other.status_code, other.json()["error"]) == (409, "NAME_CONFLICT")
    assert "document mail has this method and path" in other.json()["message"]
    assert (bad.status_code, bad.json()["details"][0]["field"]) == (400, "name")


async def test_a_token_that_is_named_must_be_able_to_use_it(world):
    token = (await world.admin.post("/api/access-tokens", json={
        "name": "reader", "operatorId": world.operator_id, "resourceIds": [1],
        "settings": {"emailAccessEnabled": True, "allowedEmailOperations": ["read_only"]},
    })).json()  # fmt: skip

    refused = await world.admin.put(
        "/api/documents/send", json={**SENDING, "tokens": [token["id"]]}
    )
    allowed = await world.admin.put("/api/documents/inbox", json={**INBOX, "tokens": [token["id"]]})

    assert refused.status_code == 400
    assert refused.json()["details"][0]["field"] == "tokens[0]"
    assert refused.json()["message"].startswith(f"Token {token['id']} cannot use it: ")
    assert allowed.status_code == 200


async def test_the_decision_log_and_explain_know_it_as_its_root_field(world):
    await save(world, "send", SENDING)
    created = await world.admin.post("/api/access-tokens", json={
        "name": "reader", "operatorId": world.operator_id, "resourceIds": [1],
        "settings": {"emailAccessEnabled": True},
    })  # fmt: skip
    token = created.json()
    async with world.client(token["token"]) as client:
        await client.post("/api/saved/send", json=MESSAGE)
    question = {"method": "POST", "path": "/api/saved/send", "body": MESSAGE}
    path = f"/api/access-tokens/{token['id']}/explain"
    explained = (await world.admin.post(path, json=question)).json()
    await world.gateway.services.decisions.flush()
    rows = (await world.admin.get(f"/api/decisions?tokenId={token['id']}")).json()["decisions"]

    (row,) = [row for row in rows if row["door"] == "rest"]
    assert (row["operation"], row["code"], row["cost"]) == (
        *("sendEmail", "OPERATION_NOT_ALLOWED"),
        1,
    )
    assert (explained["error"], explained["status"]) == ("OPERATION_NOT_ALLOWED", 403)
    assert explained["change"]["settings"]


async def test_each_edge_is_charged_and_has_a_row_of_its_own(world):
    text = "query Thread($id: String!) { email(emailId: $id) { subject thread { messageCount } } }"
    await save(world, "thread", {"document": text, "method": "GET", "path": "/api/saved/t/{id}"})
    token = await world.token({"quota": {"perDay": 10}})
    async with world.client(token) as client:
        answer = await client.get(f"/api/saved/t/{world.id('lease')}")

    assert (answer.status_code, answer.json()["thread"]) == (200, {"messageCount": 1})
    assert answer.headers["x-ratelimit-remaining"] == "8"
    await world.gateway.services.decisions.flush()
    rows = (await world.admin.get("/api/decisions?surface=email")).json()["decisions"]
    assert sorted((row["operation"], row["outcome"], row["cost"]) for row in rows) == [
        ("Email.thread", "allowed", 1),
        ("email", "allowed", 1),
    ]


async def test_another_process_sees_a_change_at_its_next_request(world, client, tmp_path):
    """Two gateways over one database: each request reads the counter of changes."""
    from gateway.app import assemble

    await save(world, "inbox", INBOX)
    assert (await client.get("/api/saved/inbox")).status_code == 200
    other = assemble(world.gateway.services.settings, sandbox=world.sandbox)
    async with other.running():
        stored = other.services.documents
        assert [document.name for document in (await stored.list()).documents] == ["inbox"]
        await save(world, "mail", MAIL)
        assert len((await stored.list()).documents) == 2
        await world.admin.delete("/api/documents/inbox")
        assert [document.name for document in (await stored.list()).documents] == ["mail"]
        assert (await stored.routes()).match(("api", "saved", "inbox")) == {}
