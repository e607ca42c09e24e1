"""Property tests: any request gets a response in the format of upstream, never a 500."""

import json
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SOME = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=12),
    st.sampled_from(["fail", "replace", "rename", "view", "read", "root", "²", "\ud800", "a/b"]),
)
ANY = st.recursive(
    SOME,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
MEMBERS = (
    "name", "folder", "parentReference", "id", "path", "driveId", "fields", "Title", "Length",
    "Until", "State", "contentType", "roles", "recipients", "email", "message", "type", "scope",
    "requests", "entityTypes", "query", "queryString", "from", "size", "item", "fileSize",
    "grantedToIdentities", "application", "description", "fileSystemInfo",
    "@microsoft.graph.conflictBehavior", "BerthLookupId", "method", "url", "headers", "body",
    "dependsOn",
)  # fmt: skip
BODIES = st.dictionaries(
    st.sampled_from(MEMBERS),
    st.one_of(
        ANY,
        st.dictionaries(st.sampled_from(MEMBERS), ANY, max_size=4),
        st.lists(st.dictionaries(st.sampled_from(MEMBERS), ANY, max_size=4), max_size=3),
    ),
    max_size=5,
)
WRITES = (
    ("POST", "/drives/{d}/root/children"),
    ("PATCH", "/drives/{d}/items/{i}"),
    ("POST", "/drives/{d}/items/{i}/invite"),
    ("POST", "/drives/{d}/items/{i}/createLink"),
    ("POST", "/drives/{d}/root:/new.bin:/createUploadSession"),
    ("POST", "/sites/{s}/lists/{l}/items"),
    ("PATCH", "/sites/{s}/lists/{l}/items/1"),
    ("PATCH", "/sites/{s}/lists/{l}/items/1/fields"),
    ("POST", "/search/query"),
    ("POST", "/$batch"),
    ("POST", "/sites/{s}/permissions"),
)
READS = (
    "/sites",
    "/sites/{s}",
    "/sites/{s}/lists",
    "/sites/{s}/lists/{l}",
    "/sites/{s}/lists/{l}/columns",
    "/sites/{s}/lists/{l}/items",
    "/sites/{s}/drives",
    "/drives/{d}/root/children",
    "/drives/{d}/items/{i}",
    "/drives/{d}/root/search(q='a')",
)
OPTIONS = ("$select", "$expand", "$filter", "$orderby", "$top", "$skiptoken", "$count", "search",
           "$search", "$skip", "$format", "$deltatoken")  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["id", "fields", "fields($select=Title)", "fields/Length eq 1", "fields/Until gt '2026'",
         "fields/Until gt 2026-99-99", "name desc", "createdDateTime", "WzEsIjEiXQ", "W10", "0",
         "listItem($expand=fields)", "columns($select=hidden)", "id eq '1'", "((((", "'", '"a',
         "startswith(fields/State,'F')", "createdDateTime gt 2026-01-01T00:00:00Z", "permissions",
         "name eq 'x'", "size gt 1", "isPersonalSite eq true", "*", "fields/Length eq null"]
    ),
)  # fmt: skip
SHARED = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def place(world, path):
    return path.format(
        d=world.documents.drive_id, i=world.text.id, s=world.yard.id, l=world.berths.id
    )


@pytest.fixture
def everything(client_with):
    return client_with(
        "Files.ReadWrite.All", "Sites.ReadWrite.All", "Sites.FullControl.All",
        "SensitivityLabel.Read",
    )  # fmt: skip


def sane(response: httpx.Response) -> None:
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        assert set(response.json()["error"]) == {"code", "message", "innerError"}


@SHARED
@given(call=st.sampled_from(WRITES), body=BODIES)
async def test_any_body_gets_a_valid_response(everything, world, call, body):
    method, path = call
    content = json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    sane(await everything.request(method, place(world, path), content=content, headers=headers))


@SHARED
@given(
    path=st.sampled_from(READS),
    query=st.lists(st.tuples(st.sampled_from(OPTIONS), VALUES), max_size=3),
)
async def test_any_query_gets_a_valid_response(everything, world, path, query):
    text = "&".join(f"{name}={quote(value, safe='')}" for name, value in query)
    headers = {"prefer": "HonorNonIndexedQueriesWarningMayFailRandomly"}
    sane(await everything.get(f"{place(world, path)}?{text}", headers=headers))


@SHARED
@given(
    parts=st.lists(
        st.one_of(
            st.sampled_from(
                ["sites", "drives", "root", "items", "children", "lists", "root:", "x:", ":",
                 "search(q='a')", "search()", "drive", "me", "content", "fields", "listItem",
                 "driveItem", "list", "getByPath(path='x')", "permissions", "columns", "users"]
            ),
            st.text(min_size=1, max_size=6),
        ),
        max_size=6,
    )
)  # fmt: skip
async def test_any_path_gets_a_valid_response(everything, parts):
    path = "/".join(quote(part, safe=":()'=") for part in parts)
    sane(await everything.get(f"/{path}"))


@SHARED
@given(text=st.one_of(st.text(max_size=40), st.lists(st.sampled_from(
    ["keel", "OR", "AND", "NOT", "-", "(", ")", '"', '"a b"', "title:", "title:x*", "size>",
     "size>5", "lastmodifiedtime:", "lastmodifiedtime>2026-01-01", "*", "path:x", "-title:y",
     "author:ann", "filetype:docx", "lastmodifiedtime:today", "size<>3", "a:b:c", "::", "-("]),
    max_size=7).map(" ".join)))  # fmt: skip
async def test_any_search_gets_a_valid_response(everything, text):
    body = {"requests": [{"entityTypes": ["driveItem"], "query": {"queryString": text}}]}
    content = json.dumps(body).encode()
    sane(await everything.post("/search/query", content=content))


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b"null", b'"x"', b"1"])
@pytest.mark.parametrize(("method", "path"), WRITES)
async def test_body_must_be_an_object(everything, world, method, path, content):
    response = await everything.request(method, place(world, path), content=content)

    assert response.status_code in ({200, 201, 400} if content == b"" else {400})
