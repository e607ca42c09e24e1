"""Every mask word hides exactly what it names, on every answer, and is no oracle."""

import json

import pytest
import pytest_asyncio

from policy.vocabulary import CollabField

pytestmark = pytest.mark.asyncio(loop_scope="session")

# Word -> the paths that it nulls: the answer's name, then the members; "*" is every entry.
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
    "download_link": ["link.downloadUrl", "link.expiresAt"],
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


def paths(still):
    site = still.id("yard")
    return {
        "file": f"/files/{still.id('plan')}",
        "files": f"/files?folderId={still.id('inner')}",
        "link": f"/files/{still.id('plan')}/download",
        "permissions": f"/files/{still.id('plan')}/permissions",
        "label": f"/files/{still.id('plan')}/sensitivity-label",
        "site": f"/sites/{site}",
        "sites": "/sites",
        "drives": f"/sites/{site}/drives",
        "list": still.path("berths"),
        "lists": f"/sites/{site}/lists",
        "row": still.path("berths", 2),
        "rows": still.path("berths", 0),
        "search": "/search?q=keel OR berth OR yard",
    }


async def everything(still, token):
    found = {}
    for name, path in paths(still).items():
        answer = await still.get(path, token)
        assert answer.status_code == 200, (path, answer.text)
        found[name] = answer.json()
        found[name].pop("accessInfo", None)
    return found


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
async def whole(still):
    return await everything(still, await still.token())


@pytest.mark.parametrize("word", [str(word) for word in CollabField])
async def test_a_word_hides_exactly_what_it_names(still, whole, word):
    token = await still.seeing(*(str(one) for one in CollabField if one != word))

    masked = await everything(still, token)

    for path, value in leaves(masked):
        hidden = any(path == one or path.startswith(one + ".") for one in HIDES[word])
        if hidden:
            assert value is None, path
    shown = {path for path, value in leaves(masked) if value is not None}
    unexpected = {
        path
        for path in {path for path, value in leaves(whole) if value is not None} - shown
        if not any(path == one or path.startswith(one + ".") for one in HIDES[word])
        and ".downloadUrl" not in path
        and "hits.*.summary" not in path
    }
    assert unexpected == set()
    assert masked.keys() == whole.keys()
    assert all(masked[name].keys() == whole[name].keys() for name in whole)


async def test_a_hidden_field_is_not_asked_for_upstream(still):
    token = await still.seeing("name")
    still.forget_calls()
    await still.get(f"/files/{still.id('notes')}", token)
    await still.get(f"/files/{still.id('notes')}/download", token)
    await still.get(still.path("berths", 2), token)

    asked = json.dumps([call["query"] for call in still.calls()])
    for word in ("createdBy", "webUrl", "size", "downloadUrl", "lastModifiedDateTime"):
        assert word not in asked
    assert not any("permissions" in call["path"] for call in still.calls())


async def test_a_download_without_its_link_asks_for_none(still):
    token = await still.seeing(*(str(one) for one in CollabField if one != "download_link"))

    body = (await still.get(f"/files/{still.id('notes')}/download", token)).json()

    assert (body["success"], body["downloadUrl"], body["fileName"]) == (True, None, "notes.txt")


DOORS = (
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


@pytest.mark.parametrize(("path", "word"), DOORS)
async def test_what_looks_at_a_hidden_field_is_refused(still, path, word):
    path = path.replace("ITEMS", still.path("berths", 0))
    others = [str(one) for one in CollabField if one != word]
    token = await still.seeing(*others)
    still.forget_calls()

    answer = await still.get(path, token)
    assert (answer.status_code, answer.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert still.calls() == []
    open_ = await still.get(path, await still.seeing(*others, maskMode="basic"))
    assert open_.status_code == 200, open_.text


async def test_select_fields_is_accepted_where_values_are_hidden(still):
    token = await still.seeing("name")

    answer = await still.get(still.path("berths", 0), token, selectFields="Length")

    assert [one["fields"] for one in answer.json()["items"]] == [None] * 4
