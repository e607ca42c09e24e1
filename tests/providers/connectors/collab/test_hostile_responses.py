"""Malformed responses and classified refusals of upstream."""

import json

import httpx
import pytest
from collab_upstream import StaticCredentials
from hypothesis import given
from hypothesis import strategies as st

from providers import collab_ids, registry
from providers.collab_ids import ItemKey, ListItemKey, ListKey
from providers.connectors.collab.failures import classify
from providers.failures import (
    Broken,
    Conflicted,
    Locked,
    Missing,
    OutcomeUnknown,
    OutOfSpace,
    ProviderFailure,
    Refused,
    Stale,
    Throttled,
)
from providers.http.client import Origins
from providers.http.response import Response
from providers.ports.collab import SearchQuery, Share, Upload
from providers.ports.connection import ConnectionInfo
from providers.records.collab import UNKNOWN

BASE = "https://upstream.example/collab"
SITE = "contoso.example,0f1e2d3c-0000-4000-8000-0123456789ab,00000000-1111-4222-8333-444444444444"
LIST = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
FOLDER = ItemKey("b!d", "01FOLDER")
FACTS = frozenset({"name", "site", "list_id", "list_item_id", "content_type_id"})


class Upstream:
    """Answers every call with a function of the request, and records the requests."""

    def __init__(self, answer):
        self.requests = []
        self._answer = answer
        origins = Origins(transport=httpx.MockTransport(self._respond))
        info = ConnectionInfo(
            id=1, resource_id=1, kind="collab", provider="COLLAB", mode="delegated", base_url=BASE
        )
        way = registry.open_upstream(origins, info, StaticCredentials("token"))
        self.port = registry.PortRegistry(lambda _: way).open(info)

    def _respond(self, request):
        self.requests.append(request)
        answer = self._answer(request)
        return answer if isinstance(answer, httpx.Response) else httpx.Response(200, json=answer)

    async def children(self, *, cursor=None, projection=FACTS):
        return await self.port.files.children(FOLDER, cursor=cursor, top=9, projection=projection)


def item(name="01A", drive="b!d", **more):
    return {"id": name, "file": {}, "parentReference": {"driveId": drive, "id": "01P"}, **more}


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/collab/v1.0/drives/b!d/items/01FOLDER/children?$skiptoken=1",
        "http://upstream.example/collab/v1.0/x?$skiptoken=1",
        "https://upstream.example:444/collab/v1.0/x?$skiptoken=1",
        "https://upstream.example@evil.example/collab/v1.0/x?$skiptoken=1",
        "https://upstream.example/other/v1.0/x?$skiptoken=1",
        "https://upstream.example/collab/../other?$skiptoken=1",
        "https://upstream.example/collab/%2e%2e/other?$skiptoken=1",
        "//evil.example/collab/v1.0/x?$skiptoken=1",
        "/collab/v1.0/x?$skiptoken=1",
        "https://upstream.example/collab/v1.0/x",
        "https://upstream.example/collab/v1.0/x?$select=id",
        f"https://upstream.example/collab/v1.0/x?$skiptoken={'y' * 3000}",
    ],
)
async def test_next_links_to_other_places_are_not_followed(link):
    upstream = Upstream(lambda _: {"value": [item()], "@odata.nextLink": link})

    with pytest.raises(Broken):
        await upstream.children()

    assert len(upstream.requests) == 1


async def test_a_page_that_links_to_itself_is_the_last():
    link = f"{BASE}/v1.0/drives/b!d/items/01FOLDER/children?$skiptoken=same"
    upstream = Upstream(lambda _: {"value": [item()], "@odata.nextLink": link})
    first = await upstream.children()

    second = await upstream.children(cursor=first.next)

    assert second.next is None
    assert len(upstream.requests) == 2


async def test_next_pages_are_requested_with_our_own_options():
    link = f"{BASE}/v1.0/drives/b!d/items/01FOLDER/children?$skiptoken=a%2Bb&$top=200&$select=id"
    upstream = Upstream(lambda _: {"value": [item()], "@odata.nextLink": link})
    first = await upstream.children()

    await upstream.children(cursor=first.next, projection=frozenset({"size"}))

    params = dict(upstream.requests[1].url.params)
    assert params == {
        "$skiptoken": "a+b",
        "$top": "9",
        "$select": "id,file,folder,package,root,parentReference,remoteItem,size",
    }
    assert upstream.requests[1].headers["authorization"] == "Bearer token"


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(item("../x"), id="an id that climbs"),
        pytest.param(item("root:/a:"), id="an id that is a path"),
        pytest.param(item(""), id="no id"),
        pytest.param(item(".."), id="dots for an id"),
        pytest.param(item(drive="b!other"), id="another library"),
    ],
)
async def test_files_with_malformed_ids_are_left_out(one):
    upstream = Upstream(lambda _: {"value": [one, item("01GOOD")]})

    assert [file.item for file in (await upstream.children()).items] == ["01GOOD"]


@pytest.mark.parametrize(
    ("more", "site"),
    [
        pytest.param({}, UNKNOWN, id="nothing told"),
        pytest.param({"sharepointIds": {}}, UNKNOWN, id="nothing in it"),
        pytest.param(
            {"sharepointIds": {"siteId": SITE.split(",")[1], "webId": SITE.split(",")[2]}},
            UNKNOWN,
            id="no host",
        ),
        pytest.param(
            {
                "sharepointIds": {
                    "siteUrl": "https://CONTOSO.example/sites/a",
                    "siteId": SITE.split(",")[1].upper(),
                    "webId": SITE.split(",")[2],
                }
            },
            SITE,
            id="all three, in capitals",
        ),
        pytest.param(
            {"sharepointIds": {"siteUrl": "https://[", "siteId": "x", "webId": "y"}},
            UNKNOWN,
            id="nonsense",
        ),
    ],
)
async def test_the_site_of_a_file_is_read_or_unknown(more, site):
    upstream = Upstream(lambda _: {"value": [item(**more)]})

    (file,) = (await upstream.children()).items

    assert file.site == site
    assert file.content_type_id is UNKNOWN


async def test_wanted_facts_that_upstream_omits_are_unknown():
    odd = {"sharepointIds": {"listId": "x"}, "listItem": {"contentType": {}}}
    upstream = Upstream(lambda _: {"value": [{**item(**odd), "parentReference": {}}]})

    (file,) = (await upstream.children()).items

    assert (file.list_id, file.list_item_id, file.content_type_id) == (UNKNOWN, UNKNOWN, UNKNOWN)
    assert (file.parent, file.media_type) == (UNKNOWN, UNKNOWN)
    assert file.parent_folder_id is None


async def test_notebooks_are_folders():
    book = {**item(), "package": {"type": "oneNote"}}
    del book["file"]
    upstream = Upstream(lambda _: {"value": [book]})

    (notebook,) = (await upstream.children()).items

    assert (notebook.is_folder, notebook.is_package) == (True, True)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[1]", b'{"value": 5}', b'{"value": [{"id": 5}]}']
)
async def test_malformed_responses_are_broken(body):
    upstream = Upstream(lambda _: httpx.Response(200, content=body))

    with pytest.raises(Broken):
        await upstream.children()


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([], id="none"),
        pytest.param([{"id": "1", "status": 200, "body": item()}], id="another's"),
        pytest.param([{"id": "0", "status": 200, "body": item()}] * 2, id="one twice"),
    ],
)
async def test_incomplete_batch_responses_are_broken(parts):
    upstream = Upstream(lambda _: {"responses": parts})

    with pytest.raises(ProviderFailure):
        await upstream.port.files.get_many(
            [ItemKey("b!d", "01A"), ItemKey("b!d", "01B")], projection=FACTS
        )


async def test_batches_contain_no_malformed_ids():
    def answer(request):
        asked = json.loads(request.content)["requests"]
        assert [drive["url"].partition("?")[0] for drive in asked] == [
            "/drives/b%21d/items/01A%21.-_"
        ]
        return {"responses": [{"id": "0", "status": 200, "body": item("01A!.-_")}]}

    key = ItemKey("b!d", "01A!.-_")
    upstream = Upstream(answer)
    bad = [ItemKey("b!d", ".."), ItemKey("b!d", "a/b"), ItemKey("b!d", ""), ItemKey(".", "01A")]

    files = await upstream.port.files.get_many([key, *bad], projection=FACTS)

    assert files[key].item == "01A!.-_"
    assert all(files[key] is None for key in bad)


@given(st.text(max_size=30))
async def test_ids_cannot_leave_their_path_segment(text):
    """A well-formed id is one path segment; a malformed one is never sent."""
    upstream = Upstream(lambda _: item(text))
    key = collab_ids.split_item(f"collab:drive:b!d:item:{text}")

    if key is None:
        return
    await upstream.port.files.get(key, projection=frozenset())
    (request,) = upstream.requests
    path = request.url.raw_path.decode().partition("?")[0]
    assert path.startswith("/collab/v1.0/drives/b%21d/items/")
    assert path.count("/") == 6


@pytest.mark.parametrize(
    "hit",
    [
        pytest.param({"@odata.type": "#microsoft.graph.driveItem", "id": "01A"}, id="no drive"),
        pytest.param(
            {"@odata.type": "#microsoft.graph.driveItem", **item("a/b")}, id="a bad file id"
        ),
        pytest.param({"@odata.type": "#microsoft.graph.listItem", "id": "x"}, id="no list"),
        pytest.param(
            {
                "@odata.type": "#microsoft.graph.listItem",
                "parentReference": {"siteId": SITE},
                "sharepointIds": {"listId": LIST, "listItemId": "../1"},
            },
            id="a bad number",
        ),
        pytest.param({"@odata.type": "#microsoft.graph.list", "id": LIST}, id="no site"),
        pytest.param(
            {"@odata.type": "#microsoft.graph.site", "id": "root"}, id="a word for a site"
        ),
        pytest.param({"@odata.type": "#microsoft.graph.message", "id": "x"}, id="a mail"),
        pytest.param({"id": "x"}, id="no kind"),
        pytest.param([], id="no object"),
        pytest.param({"@odata.type": "#microsoft.graph.site", "id": 5}, id="another shape"),
    ],
)
async def test_hits_without_ids_are_dropped(hit):
    site = {"@odata.type": "#microsoft.graph.site", "id": SITE.upper(), "displayName": "Good"}
    container = {"total": 2, "hits": [{"resource": hit}, {"resource": site}]}
    upstream = Upstream(lambda _: {"value": [{"hitsContainers": [container]}]})
    query = SearchQuery(text="x", entity_types=frozenset({"site"}))

    page = await upstream.port.search(query)

    assert [hit.id for hit in page.hits] == [f"collab:site:{SITE}"]
    assert page.total == 2


async def test_highlights_are_removed_from_summaries():
    site = {"@odata.type": "#microsoft.graph.site", "id": SITE}
    hit = {"summary": "<ddd/>the <c0>keel</c0> is <b>new</b><ddd/>", "resource": site}
    upstream = Upstream(lambda _: {"value": [{"hitsContainers": [{"total": 1, "hits": [hit]}]}]})
    query = SearchQuery(text="x", entity_types=frozenset({"site"}))

    (found,) = (await upstream.port.search(query)).hits

    assert found.summary == "… the keel is <b>new</b> …"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/upload",
        "http://contoso.sharepoint.com/upload",
        "https://sharepoint.com.evil.example/upload",
        "https://contoso.sharepoint.com:444/upload",
        "",
        None,
    ],
)
async def test_bytes_are_sent_to_known_hosts_only(url):
    async def chunks():
        yield bytes(5 * 1024 * 1024)

    def answer(request):
        if request.method == "POST":
            return {"uploadUrl": url}
        return httpx.Response(404)

    upstream = Upstream(answer)
    upload = Upload(name="a.bin", chunks=chunks(), size=5 * 1024 * 1024)

    with pytest.raises(Broken):
        await upstream.port.uploads.upload(FOLDER, upload)

    assert {request.url.host for request in upstream.requests} == {"upstream.example"}


async def test_a_list_item_with_another_id_is_missing():
    upstream = Upstream(lambda _: {"id": "8", "fields": {}})

    with pytest.raises(Missing):
        await upstream.port.list_items.get(ListItemKey(SITE, LIST, "7"), projection=frozenset())


async def test_lists_of_another_site_are_missing():
    other = SITE.replace("contoso", "other")
    upstream = Upstream(lambda _: {"id": LIST, "parentReference": {"siteId": other}, "columns": []})

    with pytest.raises(Missing):
        await upstream.port.lists.get(ListKey(SITE, LIST))


@pytest.mark.parametrize(
    "told",
    [
        pytest.param([], id="another shape"),
        pytest.param({"id": 7, "value": 7}, id="an id of another type"),
        pytest.param({"id": "1/2", "value": [7]}, id="an improper id"),
        pytest.param({"value": {}}, id="no id"),
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda port: port.file_writes.create_folder(FOLDER, "new", description=None),
            id="a folder",
        ),
        pytest.param(
            lambda port: port.list_item_writes.create(
                ListKey(SITE, LIST), {}, projection=frozenset({"fields"}), hidden=frozenset()
            ),
            id="a list item",
        ),
        pytest.param(
            lambda port: port.file_writes.share(
                FOLDER, Share(type="user", role="reader", email="a@b.example")
            ),
            id="a letter",
        ),
        pytest.param(
            lambda port: port.uploads.upload(FOLDER, Upload(name="new", chunks=pieces(), size=1)),
            id="a file",
        ),
    ],
)
async def test_unreadable_creations_have_an_unknown_outcome(told, make):
    known = {"id": LIST, "columns": []}
    upstream = Upstream(lambda request: known if request.method == "GET" else told)

    with pytest.raises(OutcomeUnknown):
        await make(upstream.port)

    assert sum(request.method != "GET" for request in upstream.requests) == 1


async def pieces():
    yield b"x"


def refusal(status, *codes, **headers):
    error = {}
    for code in reversed(codes):
        error = {"code": code, "message": "x", **({"innerError": error} if error else {})}
    return Response(status, headers, json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    ("answer", "kind", "word"),
    [
        (refusal(404, "itemNotFound"), Missing, None),
        (refusal(400, "invalidRequest", "itemNotFound"), Missing, None),
        (refusal(409, "nameAlreadyExists"), Conflicted, "nameAlreadyExists"),
        (refusal(400, "nameAlreadyExists"), Conflicted, "nameAlreadyExists"),
        (refusal(409, "somethingElse"), Conflicted, "somethingElse"),
        (refusal(412, "resourceModified"), Stale, "resourceModified"),
        (refusal(412), Stale, ""),
        (refusal(423, "resourceLocked"), Locked, "resourceLocked"),
        (refusal(423, "fileDoubleKeyEncrypted"), Locked, "fileDoubleKeyEncrypted"),
        (refusal(507, "quotaLimitReached"), OutOfSpace, "quotaLimitReached"),
        (refusal(400, "invalidRequest", "quotaLimitReached"), OutOfSpace, "invalidRequest"),
        (refusal(403, "accessDenied"), Refused, "accessDenied"),
        (refusal(403, "generalException", "notAllowed"), Refused, "notAllowed"),
        (refusal(400, "invalidRequest"), Refused, "invalidRequest"),
        (refusal(415, "unsupportedMediaType"), Refused, "unsupportedMediaType"),
    ],
)
def test_refusals_are_classified_by_their_deepest_known_code(answer, kind, word):
    failure = classify(answer)

    assert type(failure) is kind
    assert word is None or failure.word == word


@pytest.mark.parametrize(
    "answer",
    [
        refusal(429, "activityLimitReached", "throttledRequest", **{"retry-after": "41"}),
        refusal(503, "serviceNotAvailable", "activityLimitReached", **{"retry-after": "41"}),
        refusal(429, "tooManyRequests", **{"retry-after": "41"}),
    ],
)
def test_throttles_carry_their_wait(answer):
    failure = classify(answer)

    assert type(failure) is Throttled
    assert failure.retry_after == 41


@pytest.mark.parametrize("answer", [refusal(500, "generalException"), refusal(503), refusal(404)])
def test_other_failures_are_classified_by_status(answer):
    assert classify(answer) is None


def test_bodies_without_an_error_have_no_code():
    for body in (b"", b"[]", b"{", b'{"error": 5}', b'{"error": {"code": 5}}', b"\xff"):
        assert classify(Response(400, {}, body)).word == ""
