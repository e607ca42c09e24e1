"""Pages for browsers: from our own origin, under a strict content security policy."""

import json
import re
from pathlib import Path

import pytest
from graphql import OperationType, get_operation_ast, parse, validate

import graph
from gateway.http.pages import MIN_BYTES, starter_documents
from graph import schema
from providers.catalogue.tables import PRODUCTS
from rest_compat.table import ENDPOINTS

STATIC = Path(graph.__file__).parent / "static"
pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]


async def test_a_browser_at_graphql_is_redirected_to_the_explorer(client):
    response = await client.get("/graphql", headers={"Accept": "text/html,*/*"})

    assert (response.status_code, response.headers["Location"]) == (302, "/explorer/")


async def test_get_graphql_is_405_for_other_clients(client):
    response = await client.get("/graphql", headers={"Accept": "application/json"})

    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, POST"


@pytest.mark.parametrize("page", ["/explorer/", "/docs/"])
async def test_pages_load_from_their_own_origin_alone(client, page):
    response = await client.get(page)

    assert response.status_code == 200
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "http" not in policy
    assert (await client.get(page.rstrip("/"))).headers["Location"] == page


async def test_assets_are_cached_for_good_and_pages_are_checked(client):
    asset = next((STATIC / "explorer" / "assets").iterdir()).name
    cached = (await client.get(f"/explorer/assets/{asset}")).headers["Cache-Control"]
    checked = [
        (await client.get(path)).headers["Cache-Control"]
        for path in ("/explorer/", "/docs/init.js")
    ]

    assert cached == "public, max-age=31536000, immutable"
    assert checked == ["no-cache", "no-cache"]
    missing = await client.get("/explorer/assets/missing.js")
    assert (missing.status_code, "immutable" in str(missing.headers)) == (404, False)


@pytest.mark.parametrize(
    "path", ["/explorer/", "/docs/init.js", "/docs/swagger-ui-bundle.js", "/openapi.json"]
)
@pytest.mark.parametrize("turn", ["compressed now", "compressed before"])
async def test_what_is_the_same_for_everybody_is_compressed(client, path, turn):
    plain = await client.get(path, headers={"Accept-Encoding": "identity"})
    packed = await client.get(path, headers={"Accept-Encoding": "br;q=1, gzip;q=0.5"})

    is_large = len(plain.content) >= MIN_BYTES
    assert packed.content == plain.content
    assert packed.headers.get("Content-Encoding") == ("gzip" if is_large else None)
    assert "Content-Encoding" not in plain.headers
    if is_large:
        assert int(packed.headers["Content-Length"]) < len(plain.content) * 0.6
        assert "accept-encoding" in packed.headers["Vary"].lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Accept-Encoding": "gzip;q=0"},
        {"Accept-Encoding": "br"},
        {"Accept-Encoding": "gzip", "Range": "bytes=0-9"},
    ],
)
async def test_other_clients_get_the_bytes_as_they_are(client, headers):
    response = await client.get("/docs/swagger-ui-bundle.js", headers=headers)

    assert "Content-Encoding" not in response.headers


async def test_a_compressed_asset_is_checked_by_its_etag(client):
    headers = {"Accept-Encoding": "gzip"}
    first = await client.get("/docs/swagger-ui-bundle.js", headers=headers)
    headers["If-None-Match"] = first.headers["ETag"]

    second = await client.get("/docs/swagger-ui-bundle.js", headers=headers)

    assert (second.status_code, second.content) == (304, b"")


async def test_responses_of_the_api_are_never_compressed(client):
    headers = {"Accept-Encoding": "gzip"}
    responses = [
        await client.get("/api/access/email/messages", headers=headers),
        await client.post("/graphql", json={"query": "{ __typename }"}, headers=headers),
    ]

    assert [r.headers.get("Content-Encoding") for r in responses] == [None, None]


async def test_the_start_page_redirects_to_the_explorer(client):
    assert (await client.get("/")).headers["Location"] == "/explorer/"


async def test_starter_tabs_come_from_the_server(client):
    starters = (await client.get("/explorer/starters.json")).json()

    documents = starter_documents(sandbox=False)
    assert starters == {
        "sandbox": False,
        "documents": documents,
        "profiles": [],
        "products": {kind: dict(names) for kind, names in PRODUCTS.items()},
    }


async def test_the_four_starter_tabs_on_the_sandbox_end_with_a_mutation():
    documents = starter_documents(sandbox=True)

    assert [get_operation_ast(parse(text)).name.value for text in documents] == [
        *("Inbox", "Search", "Promises", "Send")
    ]
    assert operation_type(documents[3]) is OperationType.MUTATION
    assert documents[:3] == starter_documents(sandbox=False)[:3]


@pytest.mark.parametrize("sandbox", [True, False])
async def test_starter_tabs_are_formatted_and_fit_their_pane(sandbox):
    documents = starter_documents(sandbox=sandbox)

    assert len(documents) == 4
    for text in documents:
        assert max(map(len, text.splitlines())) <= 64
        assert not re.search(r"\{ \w+ \w|\w \}[ \n]*\w", text)


@pytest.mark.parametrize("sandbox", [True, False])
async def test_starter_tabs_are_valid(sandbox):
    for text in starter_documents(sandbox=sandbox):
        assert validate(schema.build(), parse(text)) == []


async def test_no_starter_tab_writes_outside_the_sandbox():
    documents = starter_documents(sandbox=False)

    assert {operation_type(text) for text in documents} == {OperationType.QUERY}


def operation_type(text):
    return get_operation_ast(parse(text)).operation


async def test_a_missing_page_is_404_in_the_error_shape(client):
    response = await client.get("/explorer/nothing.js")

    assert response.status_code == 404
    assert response.json()["error"] == "NOT_FOUND"


@pytest.mark.parametrize("path", ["/explorer/%2e%2e/schema.py", "/docs/..%2f..%2fschema.py"])
async def test_nothing_outside_the_folder_is_served(client, path):
    assert (await client.get(path)).status_code == 404


async def test_health_needs_no_credential(client):
    response = await client.get("/healthz")

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


async def test_the_described_surfaces_are_the_committed_document(client):
    committed = json.loads((Path(__file__).parents[3] / "openapi.json").read_text())

    assert (await client.get("/openapi.json")).json() == committed


async def test_every_described_call_has_its_document_in_the_explorer(client):
    paths = (await client.get("/openapi.json")).json()["paths"]
    texts = [paths[row.path][row.method.lower()]["description"] for row in ENDPOINTS]

    documents = (await client.get("/explorer/operations.json")).json()
    assert [
        name
        for name, text in zip(documents, texts, strict=True)
        if f"(../explorer/open.html#operation={name})" not in text
    ] == []


async def test_the_management_api_has_a_description_of_its_own(client):
    described = (await client.get("/api/management/openapi.json")).json()
    paths, schemas = described["paths"], described["components"]["schemas"]

    assert not any(path.startswith("/api/access/") for path in paths)
    assert set(paths["/api/access-tokens/{tokenId}"]) == {"get", "patch", "delete"}
    new_token = paths["/api/access-tokens"]["post"]["requestBody"]
    body = new_token["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/CreateTokenRequest"}
    properties = schemas["CreateTokenRequest"]["properties"]
    assert set(properties) == {
        *("name", "operatorId", "resourceIds", "expiresAt", "preset", "settings")
    }
    assert "/healthz" not in paths


async def test_without_a_sandbox_its_paths_are_404(client):
    assert (await client.get("/sandbox/calls/provider-a")).status_code == 404
