"""Attempts to evade masks, limits, tokens and surface switches by unusual requests."""

import random

import pytest

pytestmark = pytest.mark.asyncio(loop_scope="session")


def altered(token):
    """Yield *token* with one character changed, cut and extended."""
    generator = random.Random(7)
    for _ in range(40):
        at = generator.randrange(len(token) - 1)  # the last character has bits of no meaning
        letter = generator.choice([char for char in "abcXYZ019-_" if char != token[at]])
        yield token[:at] + letter + token[at + 1 :]
    yield from (token[:-2], token[1:], token + "AAAA", token[::-1], token * 2)


async def test_an_altered_page_token_and_one_of_another_token_read_nothing(readonly):
    first = (await readonly.get("/files", limit=1)).json()["nextPageToken"]
    other = await readonly.token(("file_id", readonly.id("plan"), "block"))
    readonly.forget_calls()
    attempts = [(None, text) for text in altered(first)]

    for token, text in [*attempts, (other, first)]:
        response = await readonly.get("/files", token, limit=1, pageToken=text)
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN"), text
    assert readonly.calls() == []


async def test_a_page_token_of_another_route_reads_nothing(readonly):
    token = (await readonly.get("/files", limit=1)).json()["nextPageToken"]
    readonly.forget_calls()

    for path in ("/sites", readonly.path("berths", 0), "/files?name=a"):
        joint = "&" if "?" in path else "?"
        response = await readonly.get(f"{path}{joint}pageToken={token}")
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PAGE_TOKEN"), path
    assert readonly.calls() == []


SPELLINGS = {
    "an alias": "collabFiles { files { id: name x: name } }",
    "a fragment": "collabFiles { files { ...F } } } fragment F on DriveFile { name",
    "an inline fragment": "collabFiles { files { ... on DriveFile { name } } }",
    "a directive": "collabFiles { files { name @include(if: true) name @skip(if: false) } }",
    "a bare inline fragment": "collabFiles { files { ... @include(if: true) { name } } }",
    "two aliases": "a: collabFiles { files { name } } b: collabFiles { files { name } }",
    "merged fields": "collabFiles { files { id } } collabFiles { files { name } }",
}


@pytest.mark.parametrize("selection", SPELLINGS.values(), ids=SPELLINGS)
async def test_no_spelling_of_a_document_shows_a_masked_field(readonly, selection):
    token = await readonly.token_with_fields("size")

    answer = await readonly.graphql(f"query {{ {selection} }}", token)

    assert "errors" not in answer, answer
    assert "Boats" not in str(answer)
    assert "notes.txt" not in str(answer)


@pytest.mark.parametrize(
    "document",
    [
        "query { a: collabFiles { files { id } } } query { b: collabFiles { files { id } } }",
        "query { ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
        "query { collabFiles { files { id @unknown } } }",
        "query @include(if: true) { collabFiles { files { id } } }",
        "query { collabFiles { files { id @include(if: true) @include(if: true) } } }",
        "subscription { collabFiles { files { id } } }",
        "query { _entities { id } }",
        "query { collabFiles { files { driveItem { id } } } }",
    ],
)
async def test_what_the_schema_does_not_have_is_refused_before_anything_runs(readonly, document):
    readonly.forget_calls()

    answer = await readonly.graphql(document)

    (error, *_) = answer["errors"]
    codes = {"GRAPHQL_VALIDATION_FAILED", "GRAPHQL_PARSE_FAILED", "VALIDATION_ERROR"}
    assert error["extensions"]["code"] in codes, error
    assert readonly.calls() == []


async def test_introspection_tells_nothing_of_rules_and_accounts(readonly):
    """Of tokens with the same operations and masks, one sees as much as the other."""
    document = "query { __schema { types { name fields { name } } } }"
    narrow = await readonly.token(collabAllowAllDefault=False)

    assert await readonly.graphql(document, narrow) == await readonly.graphql(document)


PATHS = [
    "/api/access/email/../collab/files",
    "/api/access/email/%2e%2e/collab/files",
    "/api/access//collab/files",
    "//api/access/collab/files",
    "/api/access/collab;a=b/files",
    "/api/access/collab/files;a",
    "/api/access/Collab/files",
    "/API/access/collab/files",
    "/api/access/collab%2ffiles",
    "/api/access/collab/./files",
    "/api/access/collab\\files",
    "/api/access/collab/files/",
    "/api/access/collab/files%00",
]


@pytest.mark.parametrize("path", PATHS)
async def test_no_spelling_of_a_path_passes_the_switch_of_a_surface(readonly, path):
    token = await readonly.token(collabAccessEnabled=False)
    readonly.forget_calls()

    async with readonly.client(token) as client:
        request = client.build_request("GET", "http://127.0.0.1:8000/")
        request.url = request.url.copy_with(raw_path=path.encode())
        response = await client.send(request)

    assert response.status_code in {404, 400, 422}, response.text
    assert readonly.calls() == []


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", ""],
)
async def test_no_content_type_of_a_form_changes_anything_without_the_header(readonly, kind):
    """A browser sends such a POST from any page, with cookies; here only the header counts."""
    readonly.forget_calls()
    headers = {"content-type": kind, "cookie": f"token={await readonly.token()}"}

    async with readonly.client("") as client:
        for path in ("/graphql", "/api/access/collab/folders", "/api/access-tokens"):
            body = b'{"query":"{collabFiles{files{id}}}","name":"x"}'
            client.headers.pop("authorization", None)
            response = await client.post(path, content=body, headers=headers)
            assert response.status_code == 401, path
            assert "access-control-allow-origin" not in response.headers
    assert readonly.calls() == []
