"""A token that is limited to saved documents runs nothing else, by REST and by GraphQL."""

import hashlib
from collections import Counter

import pytest

LIST = "query Inbox($limit: Int) { emails(limit: $limit) { emails { id subject } } }"
SELF = "{ accessToken { id } }"
INBOX = {"document": LIST, "method": "GET", "path": "/api/saved/inbox"}
OWN = {"document": SELF, "method": "GET", "path": "/api/saved/self"}
MESSAGES = "/api/access/email/messages"


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(autouse=True)
async def _saved(world):
    for name, document in (("inbox", INBOX), ("self", OWN)):
        response = await world.admin.put(f"/api/documents/{name}", json=document)
        assert response.status_code == 200, response.text


async def graphql(client, **body):
    return await client.post("/graphql", json=body)


def without_id(response):
    body = response.json()
    for part in (body, *(error["extensions"] for error in body.get("errors", ()))):
        part.pop("requestId", None)
    return response.status_code, body


async def test_a_document_id_runs_the_text_of_the_document(world):
    async with world.client(await world.token({})) as client:
        by_text = await graphql(client, query=LIST, variables={"limit": 2})
        for document_id in (digest(LIST), f"sha256:{digest(LIST)}"):
            by_id = await graphql(client, documentId=document_id, variables={"limit": 2})
            assert (by_id.status_code, by_id.content) == (200, by_text.content)

        unknown = await graphql(client, documentId=digest("{}"))
        assert unknown.status_code == 404
        assert unknown.json()["errors"][0]["extensions"]["code"] == "DOCUMENT_NOT_FOUND"
        for wrong in (
            {"documentId": "abc"},
            {"documentId": 7},
            {"documentId": digest(LIST).upper()},
            {"documentId": digest(LIST), "query": LIST},
        ):
            refused = await graphql(client, **wrong)
            assert refused.json()["errors"][0]["extensions"]["code"] == "VALIDATION_ERROR", wrong
        await world.admin.delete("/api/documents/inbox")
        gone = await graphql(client, documentId=digest(LIST))
        assert gone.status_code == 404


async def test_the_call_of_a_saved_document_is_named_by_its_id(world):
    async def rest_of(client, **body):
        return await client.post("/graphql/rest-of", json=body)

    async with world.client(await world.token({})) as client:
        for document_id in (digest(LIST), f"sha256:{digest(LIST)}"):
            by_id = await rest_of(client, documentId=document_id, variables={"limit": 2})
            by_text = await rest_of(client, query=LIST, variables={"limit": 2})
            assert (by_id.status_code, by_id.content) == (200, by_text.content)
        unknown = await rest_of(client, documentId=digest("{}"))
        assert (unknown.status_code, unknown.json()["error"]) == (404, "DOCUMENT_NOT_FOUND")
        both = await rest_of(client, documentId=digest(LIST), query=LIST)
        assert (both.status_code, both.json()["error"]) == (400, "VALIDATION_ERROR")

    async with world.client(await world.token({"documents": ["inbox"]})) as client:
        assert (await rest_of(client, documentId=digest(LIST))).status_code == 200
        assert (await rest_of(client, query=SELF)).status_code == 200  # its own text
        there, unknown = [
            without_id(await rest_of(client, documentId=digest(text))) for text in (SELF, "{}")
        ]
        assert there == unknown
        assert (there[0], there[1]["error"]) == (403, "DOCUMENT_NOT_ALLOWED")


@pytest.mark.parametrize("documents", ["saved", ["inbox"]])
async def test_a_limited_token_runs_saved_documents_only(world, documents):
    async with world.client(await world.token({"documents": documents})) as client:
        assert (await client.get("/api/saved/inbox")).status_code == 200
        assert (await graphql(client, documentId=digest(LIST))).status_code == 200
        assert (await graphql(client, query=LIST)).json()["data"]["emails"]["emails"]
        describing = await client.get("/api/access/schema.graphql")
        assert describing.status_code == 200
        world.forget_calls()

        for method, path in (
            ("GET", MESSAGES),
            ("GET", f"{MESSAGES}/{world.id('lease')}"),
            ("DELETE", f"{MESSAGES}/{world.id('lease')}"),
            ("POST", f"{MESSAGES}/send"),
            ("GET", "/api/access/token"),
            ("GET", "/api/saved/none"),
            ("POST", "/api/saved/inbox"),
            ("OPTIONS", "/api/saved/inbox") if documents != "saved" else ("GET", "/api/saved/x"),
        ):
            refused = await client.request(method, path)
            allowed_to_know = path == "/api/saved/inbox"  # it may run this one
            expected = 405 if allowed_to_know else 403
            assert refused.status_code == expected, (method, path, refused.text)
            if not allowed_to_know:
                assert refused.json()["error"] == "DOCUMENT_NOT_ALLOWED"
        for body in (
            {"query": LIST + " "},
            {"query": "{ emails { hasMore } }"},
            {"query": "{ __schema { queryType { name } } }"},
            {"query": "{ nothing }"},
            {"documentId": digest("{}")},
        ):
            refused = await graphql(client, **body)
            (error,) = refused.json()["errors"]
            assert refused.status_code == 403, body
            assert error["extensions"]["code"] == "DOCUMENT_NOT_ALLOWED"
            explained = await client.post("/graphql/explain", json=body)
            assert explained.status_code == 403, body
            assert explained.json()["error"] == "DOCUMENT_NOT_ALLOWED"
        own = await client.post("/graphql/explain", json={"documentId": digest(LIST)})
        assert (own.status_code, own.json()["error"]) == (403, "DOCUMENT_NOT_ALLOWED")
        prefer = await client.get(MESSAGES, headers={"Prefer": "graphql"})
        assert prefer.status_code == 403
        for path in (MESSAGES, "/api/operators", "/api/access/graphql-of"):
            named = await client.get("/api/access/graphql-of", params={"path": path})
            assert (named.status_code, named.json()["error"]) == (403, "DOCUMENT_NOT_ALLOWED")
        assert world.calls() == []


async def test_other_documents_and_none_at_all_are_refused_alike(world):
    """Two worlds: the token cannot tell which documents there are beside its own."""
    async with world.client(await world.token({"documents": ["inbox"]})) as client:
        there = [
            without_id(await client.get("/api/saved/self")),
            without_id(await client.post("/api/saved/self")),
            without_id(await graphql(client, documentId=digest(SELF))),
            without_id(await graphql(client, query=SELF)),
        ]
        assert (await world.admin.delete("/api/documents/self")).status_code == 204
        gone = [
            without_id(await client.get("/api/saved/self")),
            without_id(await client.post("/api/saved/self")),
            without_id(await graphql(client, documentId=digest(SELF))),
            without_id(await graphql(client, query=SELF)),
        ]

    assert there == gone
    assert {status for status, _ in there} == {403}


EDGES = "query Edges($limit: Int) { emails(limit: $limit) { emails { thread { id subject } } } }"
SEND = "mutation Send($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
TREE = "query Tree($limit: Int) { collabFiles(limit: $limit) { files { id } } }"
# Everything that depends on the document: variables, preferences, its cost, its surface, its body.
FORBIDDEN = {
    "edges": {"document": EDGES, "method": "GET", "path": "/api/saved/secret"},
    "send": {"document": SEND, "method": "POST", "path": "/api/saved/secret"},
    "tree": {"document": TREE, "method": "GET", "path": "/api/saved/secret"},
}
PREFERENCES = ["graphql", "dry-run", "handling=strict", "partial=fail", "cost"]


async def answers(world, token):
    """Return what a caller at an address of its own sees of the path, in every spelling."""
    seen = []
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        for preference in (None, *PREFERENCES):
            headers = {"Prefer": preference} if preference else {}
            async with world.client(token) as client:
                response = await client.request(
                    method,
                    "/api/saved/secret?limit=1&subject=1&foo=2",
                    headers={"Idempotency-Key": "k", "If-Effect": "x", **headers},
                )
            own = ("x-request-id", "date", "x-ratelimit-reset")
            head = {name: text for name, text in response.headers.items() if name not in own}
            body = response.content.replace(response.headers["x-request-id"].encode(), b"")
            seen.append((method, preference, response.status_code, head, body))
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("valid", [True, False], ids=["valid token", "invalid token"])
async def test_a_forbidden_document_is_the_same_as_none(world, name, valid):
    """Bytes, headers and charges, whatever the document would cost."""
    token = await world.token({"documents": ["inbox"]}) if valid else "none"
    missing = await answers(world.called_from("127.0.0.2"), token)
    saved = await world.admin.put(f"/api/documents/{name}", json=FORBIDDEN[name])
    assert saved.status_code == 200, saved.text
    world.forget_calls()
    forbidden = await answers(world.called_from("127.0.0.3"), token)
    await world.admin.delete(f"/api/documents/{name}")

    assert forbidden == missing
    assert {status for _, _, status, _, _ in forbidden} == {403 if valid else 401}
    assert {"x-ratelimit-remaining"} <= set(forbidden[0][3])
    assert world.calls() == []


async def test_a_forbidden_document_id_costs_what_an_unknown_one_does(world):
    token, seen = await world.token({"documents": ["inbox"]}), []
    for address in ("127.0.0.2", "127.0.0.3"):
        async with world.called_from(address).client(token) as client:
            responses = [
                await client.post(path, json={"documentId": digest(EDGES)}, headers=headers)
                for path in ("/graphql", "/graphql/rest-of", "/graphql/explain")
                for headers in ({}, {"Prefer": "cost"}, {"Prefer": "dry-run"})
            ]
        own = ("x-request-id", "date", "x-ratelimit-reset", "content-length")
        seen.append(
            [
                (
                    {name: text for name, text in response.headers.items() if name not in own},
                    without_id(response),
                )
                for response in responses
            ]
        )
        if len(seen) == 1:
            saved = await world.admin.put("/api/documents/edges", json=FORBIDDEN["edges"])
            assert saved.status_code == 200, saved.text

    assert seen[0] == seen[1]
    assert {status for _, (status, _) in seen[0]} == {403}
    assert world.calls() == []


async def test_a_limit_that_is_only_logged_allows_and_notes(world):
    created = await world.admin.post("/api/access-tokens", json={
        "name": "trial", "operatorId": world.operator_id, "resourceIds": [1],
        "settings": {
            "emailAccessEnabled": True, "documents": "any", "documentsLogOnly": ["inbox"],
        },
    })  # fmt: skip
    token = created.json()
    async with world.client(token["token"]) as client:
        assert (await client.get("/api/saved/inbox")).status_code == 200
        assert (await client.get("/api/saved/self")).status_code == 200
        assert (await client.get(MESSAGES)).status_code == 200
        assert (await graphql(client, query="{ emails { hasMore } }")).status_code == 200
        assert (await graphql(client, documentId=digest(LIST))).status_code == 200
        assert (await client.delete(f"{MESSAGES}/{world.id('lease')}")).status_code == 403
    await world.gateway.services.decisions.flush()
    path = f"/api/decisions?tokenId={token['id']}"
    rows = (await world.admin.get(path)).json()["decisions"]

    noted = [
        (row["door"], row["operation"], row["outcome"], row["layer"], row["code"])
        for row in rows
        if row["actor"] is None
    ]
    # Rows of one millisecond have no order of their own.
    assert Counter(noted) == Counter([
        ("rest", "emails", "allowed", None, None),
        ("rest", "accessToken", "allowed", "document", "DOCUMENT_NOT_ALLOWED"),
        ("rest", "emails", "allowed", "document", "DOCUMENT_NOT_ALLOWED"),
        ("graphql", "emails", "allowed", "document", "DOCUMENT_NOT_ALLOWED"),
        ("graphql", "emails", "allowed", None, None),
        ("rest", "deleteEmail", "refused", "operation", "OPERATION_NOT_ALLOWED"),
    ])  # fmt: skip


async def test_explain_names_the_layer_and_the_smallest_change(world):
    created = await world.admin.post("/api/access-tokens", json={
        "name": "app", "operatorId": world.operator_id, "resourceIds": [1],
        "settings": {"emailAccessEnabled": True, "documents": ["inbox"]},
    })  # fmt: skip
    path = f"/api/access-tokens/{created.json()['id']}/explain"

    saved = (await world.admin.post(path, json={"method": "GET", "path": "/api/saved/self"})).json()
    row = (await world.admin.post(path, json={"method": "GET", "path": MESSAGES})).json()
    document = (await world.admin.post(path, json={"document": SELF})).json()
    allowed = (
        await world.admin.post(path, json={"method": "GET", "path": "/api/saved/inbox"})
    ).json()

    assert (saved["error"], saved["change"]["settings"]) == (
        *("DOCUMENT_NOT_ALLOWED", {"documents": ["inbox", "self"]}),
    )
    assert row["change"]["settings"] == {"documents": "any"}
    assert document["change"]["settings"] == {"documents": ["inbox", "self"]}
    outcomes = {layer["layer"]: layer["outcome"] for layer in saved["layers"]}
    assert (outcomes["quota"], outcomes["document"], outcomes["surface"]) == (
        *("not_applicable", "refused", "not_reached"),
    )
    assert allowed["outcome"] == "allowed"
    (layer,) = [layer for layer in allowed["layers"] if layer["layer"] == "document"]
    assert layer["detail"] == "The token may run this saved document."


async def test_a_child_is_contained_in_its_parent(world):
    parent = await world.token({"documents": ["inbox"], "allowChildren": True})
    async with world.client(parent) as client:
        # The parent runs no call that creates a child, so the limit comes after the child.
        refused = await client.post("/api/access/token/children", json={"name": "c"})
        assert refused.json()["error"] == "DOCUMENT_NOT_ALLOWED"
    created = await world.admin.post("/api/access-tokens", json={
        "name": "parent", "operatorId": world.operator_id, "resourceIds": [1],
        "settings": {"emailAccessEnabled": True, "allowChildren": True},
    })  # fmt: skip
    settings = {"documents": ["inbox", "self"]}
    async with world.client(created.json()["token"]) as client:
        child = (
            await client.post(
                "/api/access/token/children", json={"name": "c", "settings": settings}
            )
        ).json()
    change = {"settings": {"documents": ["self"], "emailAccessEnabled": True}}
    await world.admin.patch(f"/api/access-tokens/{created.json()['id']}", json=change)
    async with world.client(child["token"]) as client:
        assert (await client.get("/api/saved/self")).status_code == 200
        assert (await client.get("/api/saved/inbox")).status_code == 403
    read = (await world.admin.get(f"/api/access-tokens/{child['id']}")).json()
    assert read["settings"]["documents"] == ["self"]
    wide = await world.admin.patch(
        f"/api/access-tokens/{created.json()['id']}", json={"settings": {"documents": "any"}}
    )
    assert wide.json()["settings"]["documents"] == "any"
