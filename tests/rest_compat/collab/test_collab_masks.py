"""Every mask word hides exactly its fields in every response, and cannot be probed."""

import json

import pytest
import pytest_asyncio

from policy.vocabulary import CollabField

pytestmark = pytest.mark.asyncio(loop_scope="session")

WORDS = [str(word) for word in CollabField if word != "connection_id"]  # not in REST

# Mask word -> the paths it nulls: the name of the response, then members; "*" is every entry.
HIDES = {
    "name": [
        "file.file.name",
        "files.files.*.name",
        "link.fileName",
        "site.displayName",
        "site.name",
        "sites.sites.*.displayName",
        "sites.sites.*.name",
        "drives.drives.*.name",
        "list.displayName",
        "list.name",
        "lists.lists.*.displayName",
        "lists.lists.*.name",
        "row.name",
        "rows.items.*.name",
        "search.hits.*.title",
        *(f"search.hits.{kind}.summary" for kind in ("driveItem", "listItem", "list", "site")),
        *(
            f"{at}.fields.{column}"
            for at in ("row", "rows.items.*")
            for column in ("Title", "LinkTitle", "LinkTitleNoMenu")
        ),
    ],
    "mime_type": ["file.file.mimeType", "files.files.*.mimeType", "link.mimeType"],
    "size": ["file.file.size", "files.files.*.size", "link.size"],
    "created_time": [
        "file.file.createdTime",
        "files.files.*.createdTime",
        "site.createdDateTime",
        "sites.sites.*.createdDateTime",
        "list.createdDateTime",
        "lists.lists.*.createdDateTime",
        "row.createdDateTime",
        "rows.items.*.createdDateTime",
        "row.fields.Created",
        "rows.items.*.fields.Created",
    ],
    "modified_time": [
        "file.file.modifiedTime",
        "files.files.*.modifiedTime",
        "site.lastModifiedDateTime",
        "sites.sites.*.lastModifiedDateTime",
        "list.lastModifiedDateTime",
        "lists.lists.*.lastModifiedDateTime",
        "row.lastModifiedDateTime",
        "rows.items.*.lastModifiedDateTime",
        "row.fields.Modified",
        "rows.items.*.fields.Modified",
        "search.hits.*.lastModifiedDateTime",
    ],
    "owners": [
        "file.file.owners",
        "files.files.*.owners",
        "row.createdBy",
        "row.lastModifiedBy",
        "rows.items.*.createdBy",
        "rows.items.*.lastModifiedBy",
        *(
            f"{at}.fields.{column}"
            for at in ("row", "rows.items.*")
            for column in ("AuthorLookupId", "EditorLookupId")
        ),
    ],
    "shared_with": [
        "file.file.sharedWith",
        "permissions.permissions.*.emailAddress",
        "permissions.permissions.*.displayName",
    ],
    "description": [
        "file.file.description",
        "files.files.*.description",
        "site.description",
        "sites.sites.*.description",
        "list.description",
        "lists.lists.*.description",
        "search.hits.driveItem.summary",
        "search.hits.site.summary",
        "search.hits.list.summary",
    ],
    "web_view_link": [
        "file.file.webViewLink",
        "files.files.*.webViewLink",
        "link.webViewLink",
        "site.webUrl",
        "sites.sites.*.webUrl",
        "drives.drives.*.webUrl",
        "list.webUrl",
        "lists.lists.*.webUrl",
        "row.webUrl",
        "rows.items.*.webUrl",
        "search.hits.*.webUrl",
    ],
    "download_link": ["link.downloadUrl", "link.expiresAt", "file.file.downloadLink"],
    "parent_folder": [
        "file.file.parentFolderId",
        "file.file.parentFolderName",
        "files.files.*.parentFolderId",
        "files.files.*.parentFolderName",
    ],
    "sensitivity_label": [
        "file.file.labels",
        "files.files.*.labels",
        "label.labelId",
        "label.labelDisplayName",
        "label.assignmentMethod",
    ],
    "site_name": [
        "list.siteName",
        "lists.lists.*.siteName",
        "row.siteName",
        "rows.items.*.siteName",
    ],
    "list_name": ["row.listName", "rows.items.*.listName"],
    "content_type": [
        "row.contentType",
        "rows.items.*.contentType",
        "row.fields.ContentType",
        "rows.items.*.fields.ContentType",
    ],
    "field_values": ["row.fields", "rows.items.*.fields", "search.hits.listItem.summary"],
}


def paths(readonly):
    site = readonly.id("yard")
    return {
        "file": f"/files/{readonly.id('plan')}",
        "files": f"/files?folderId={readonly.id('inner')}",
        "link": f"/files/{readonly.id('plan')}/download",
        "permissions": f"/files/{readonly.id('plan')}/permissions",
        "label": f"/files/{readonly.id('plan')}/sensitivity-label",
        "site": f"/sites/{site}",
        "sites": "/sites",
        "drives": f"/sites/{site}/drives",
        "list": readonly.path("berths"),
        "lists": f"/sites/{site}/lists",
        "row": readonly.path("berths", 2),
        "rows": readonly.path("berths", 0),
        "search": "/search?q=keel OR berth OR yard",
    }


async def read_everything(readonly, token):
    bodies = {}
    for name, path in paths(readonly).items():
        response = await readonly.get(path, token)
        assert response.status_code == 200, (path, response.text)
        bodies[name] = response.json()
        bodies[name].pop("accessInfo", None)
    return bodies


def leaves(value, path=""):
    """Yield every member as (path, value); entries of lists are "*", hits their kind."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}" if path else name)
            if isinstance(inner, dict | list):
                yield (f"{path}.{name}" if path else name), inner
    elif isinstance(value, list):
        for entry in value:
            yield from leaves(entry, f"{path}.*")
            if isinstance(entry, dict) and "entityType" in entry:
                yield f"{path}.{entry['entityType']}.summary", entry["summary"]
    else:
        yield path, value


@pytest_asyncio.fixture(loop_scope="session")
async def unmasked(readonly):
    return await read_everything(readonly, await readonly.token())


@pytest.mark.parametrize("word", WORDS)
async def test_a_mask_word_hides_exactly_its_fields(readonly, unmasked, word):
    token = await readonly.token_with_fields(
        *(str(other) for other in CollabField if other != word)
    )

    masked = await read_everything(readonly, token)

    for path, value in leaves(masked):
        hidden = any(path == prefix or path.startswith(prefix + ".") for prefix in HIDES[word])
        if hidden:
            assert value is None, path
    visible_paths = {path for path, value in leaves(masked) if value is not None}
    unexpected = {
        path
        for path in {path for path, value in leaves(unmasked) if value is not None} - visible_paths
        if not any(path == prefix or path.startswith(prefix + ".") for prefix in HIDES[word])
        and ".downloadUrl" not in path
        and "hits.*.summary" not in path
    }
    assert unexpected == set()
    assert masked.keys() == unmasked.keys()
    assert all(masked[name].keys() == unmasked[name].keys() for name in unmasked)
    if word != "field_values":
        assert masked["row"]["fields"].keys() == unmasked["row"]["fields"].keys()


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
async def test_a_basic_mask_nulls_the_documented_members_alone(readonly, unmasked, word):
    others = [str(other) for other in CollabField if other != word]
    token = await readonly.token_with_fields(*others, maskMode="basic")

    masked = await read_everything(readonly, token)

    by_mask = [path for path in HIDES[word] if ".fields." not in path]
    expected = [(path, value) for path, value in leaves(unmasked) if not is_in(path, by_mask)]
    shown = [(path, value) for path, value in leaves(masked) if not is_in(path, by_mask)]
    assert without_changing(shown) == without_changing(expected)
    assert {
        value for path, value in leaves(masked) if is_in(path, by_mask) and "summary" not in path
    } == {None} or word == "shared_with"


def is_in(path, prefixes):
    """Say whether a path is, or is below, one of *prefixes*; summaries are named by their kind."""
    return ".summary" in path or any(
        path == prefix or path.startswith(f"{prefix}.") for prefix in prefixes
    )


def without_changing(paths):
    """Leave out what differs between any two calls, and whole objects, whose leaves are there."""
    return sorted(
        (path, value)
        for path, value in ((path, repr(value)) for path, value in paths)
        if not value.startswith(("{", "[")) and not path.endswith(("downloadUrl", "expiresAt"))
    )


async def test_a_masked_field_is_not_fetched(readonly):
    token = await readonly.token_with_fields("name")
    readonly.forget_calls()
    await readonly.get(f"/files/{readonly.id('notes')}", token)
    await readonly.get(f"/files/{readonly.id('notes')}/download", token)
    await readonly.get(readonly.path("berths", 2), token)

    queries = json.dumps([call["query"] for call in readonly.calls()])
    for word in ("createdBy", "webUrl", "size", "downloadUrl", "lastModifiedDateTime"):
        assert word not in queries
    assert not any("permissions" in call["path"] for call in readonly.calls())


async def test_a_download_with_masked_link_fetches_none(readonly):
    token = await readonly.token_with_fields(
        *(str(word) for word in CollabField if word != "download_link")
    )

    body = (await readonly.get(f"/files/{readonly.id('notes')}/download", token)).json()

    assert (body["success"], body["downloadUrl"], body["fileName"]) == (True, None, "notes.txt")


FILTERS = (
    pytest.param("/files?q=keel", "name", id="q of files"),
    pytest.param("/files?name=a", "name", id="name of files"),
    pytest.param("/files?orderBy=name", "name", id="files by name"),
    pytest.param("/files?mimeType=text/plain", "mime_type", id="type of files"),
    pytest.param("/files?orderBy=size", "size", id="files by size"),
    pytest.param("/files?orderBy=created_time", "created_time", id="files by creation"),
    pytest.param("/files?orderBy=modified_time", "modified_time", id="files by change"),
    pytest.param("/files?modifiedAfter=2026-01-01", "modified_time", id="changed after"),
    pytest.param("/files?modifiedBefore=2026-01-01", "modified_time", id="changed before"),
    pytest.param("/sites?q=yard", "name", id="q of sites"),
    pytest.param("ITEMS?filter=Length eq 2", "field_values", id="a filter of items"),
    pytest.param("ITEMS?orderBy=Length", "field_values", id="an order of items"),
    pytest.param("ITEMS?filter=not contains(Title,'9')", "name", id="a filter by name"),
    pytest.param("ITEMS?orderBy=Length,fields/Title desc", "name", id="an order by name"),
    pytest.param("/search?q=title:keel", "name", id="title:"),
    pytest.param("/search?q=filename:keel", "name", id="filename:"),
    pytest.param("/search?q=a OR FileType:pdf", "mime_type", id="filetype:"),
    pytest.param("/search?q=author:ann", "owners", id="author:"),
    pytest.param('/search?q=path:"https://x"', "web_view_link", id="path:"),
    pytest.param("/search?q=contenttype:item", "content_type", id="contenttype:"),
    pytest.param("/search?q=lastmodifiedtime>=2026-01-01", "modified_time", id="lastmodifiedtime"),
    pytest.param("/search?q=Phone:1", "field_values", id="a column"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "word"), FILTERS)
async def test_filters_and_orders_on_a_masked_field_are_refused(readonly, path, word):
    path = path.replace("ITEMS", readonly.path("berths", 0))
    others = [str(other) for other in CollabField if other != word]
    token = await readonly.token_with_fields(*others)
    readonly.forget_calls()

    response = await readonly.get(path, token)
    assert (response.status_code, response.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert readonly.calls() == []
    open_ = await readonly.get(path, await readonly.token_with_fields(*others, maskMode="basic"))
    assert open_.status_code == 200, open_.text


async def test_select_fields_is_ignored_where_values_are_masked(readonly):
    token = await readonly.token_with_fields("name")

    response = await readonly.get(readonly.path("berths", 0), token, selectFields="Length")

    assert [item["fields"] for item in response.json()["items"]] == [None] * 4
