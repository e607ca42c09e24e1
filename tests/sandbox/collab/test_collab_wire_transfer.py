"""Uploads, downloads, pre-authenticated URLs and upload sessions."""

import httpx
import msgspec
import pytest

from sandbox.collab import records as r

STEP = 320 * 1024


def code(response):
    return response.status_code, response.json()["error"]["code"]


async def session(client, world, name="big.bin", behaviour="fail", **more):
    item = {"@microsoft.graph.conflictBehavior": behaviour, **more}
    response = await client.post(
        f"/drives/{world.documents.drive_id}/root:/{name}:/createUploadSession", json={"item": item}
    )
    assert response.status_code == 200, response.text
    return response.json()


def part(start, size, total):
    return {"content-range": f"bytes {start}-{start + size - 1}/{total}"}


# -- downloads


async def test_content_redirects_to_a_pre_authenticated_url(client, world, outside):
    place = f"/drives/{world.documents.drive_id}/items/{world.text.id}/content"
    answer = await client.get(place)
    bytes_ = await outside.get(answer.headers["location"])

    assert answer.status_code == 302
    assert answer.headers["location"].startswith("http://content.test/collab/content/")
    assert bytes_.content == b"varnish and oakum\n"
    assert bytes_.headers["content-type"] == "text/plain"
    assert bytes_.headers["content-disposition"] == "attachment; filename*=UTF-8''notes.txt"


async def test_download_url_refuses_credentials(client, world, outside):
    answer = await client.get(f"/drives/{world.documents.drive_id}/items/{world.text.id}")
    link = answer.json()["@microsoft.graph.downloadUrl"]
    refused = await outside.get(link, headers={"authorization": "Bearer anything"})

    assert code(refused) == (401, "unauthenticated")


@pytest.mark.parametrize("spoil", ["forged", "expired", "deleted"])
async def test_invalid_download_url_is_refused(client, world, outside, spoil):
    place = f"/drives/{world.documents.drive_id}/items/{world.text.id}"
    link = (await client.get(place)).json()["@microsoft.graph.downloadUrl"]
    if spoil == "forged":
        link = link.replace("tempauth=", "tempauth=0")
    elif spoil == "expired":
        world.now += world.store.settings.link_seconds + 1
    else:
        await client.delete(place)

    assert (await outside.get(link)).status_code == (404 if spoil == "deleted" else 401)


@pytest.mark.parametrize(
    "row",  # asked for, status, bytes, Content-Range
    [
        ("bytes=0-6", 206, b"varnish", "bytes 0-6/18"),
        ("bytes=-3", 206, b"um\n", "bytes 15-17/18"),
        ("bytes=12-", 206, b"oakum\n", "bytes 12-17/18"),
        ("bytes=0-1,3-4", 200, b"varnish and oakum\n", None),
        ("bytes=18-", 416, None, "bytes */18"),
        ("nonsense", 200, b"varnish and oakum\n", None),
    ],
)
async def test_range_requests_return_parts(client, world, outside, row):
    wanted, status, content, shown = row
    answer = await client.get(f"/drives/{world.documents.drive_id}/items/{world.text.id}")
    link = answer.json()["@microsoft.graph.downloadUrl"]
    response = await outside.get(link, headers={"range": wanted})

    assert response.status_code == status
    assert response.headers.get("content-range") == shown
    assert content is None or response.content == content


async def test_folder_has_no_content(client, world):
    response = await client.get(f"/drives/{world.documents.drive_id}/root/content")

    assert response.status_code == 400


# -- small uploads


@pytest.mark.parametrize(
    ("behaviour", "status", "name"),
    [("fail", 409, None), ("replace", 200, "notes.txt"), ("rename", 201, "notes 1.txt")],
)
async def test_upload_honours_the_conflict_behaviour(client, world, behaviour, status, name):
    place = f"/drives/{world.documents.drive_id}/items/{world.documents.id}:/notes.txt:/content"
    query = f"?@microsoft.graph.conflictBehavior={behaviour}"
    response = await client.put(place + query, content=b"new words")

    assert response.status_code == status
    if name is None:
        assert code(response) == (409, "nameAlreadyExists")
        assert world.item(world.text) == world.text
    else:
        assert response.json()["name"] == name
        assert response.json()["size"] == 9


async def test_upload_replaces_by_default(client, world, outside):
    place = f"/drives/{world.documents.drive_id}/root:/notes.txt:/content"
    response = await client.put(place, content=b"new words")
    bytes_ = await outside.get(response.json()["@microsoft.graph.downloadUrl"])

    assert response.json()["id"] == world.text.id
    assert bytes_.content == b"new words"


async def test_uploaded_text_is_searchable(client, world):
    await client.put(
        f"/drives/{world.documents.drive_id}/root:/a.html:/content",
        content=b"<p>an <b>unheard</b> wording</p>",
    )
    drive = world.documents.drive_id
    matches = (await client.get(f"/drives/{drive}/root/search(q='unheard')")).json()["value"]

    assert [item["name"] for item in matches] == ["a.html"]


async def test_empty_file_is_stored(client, world, outside):
    place = f"/drives/{world.documents.drive_id}/root:/none.txt:/content"
    response = await client.put(place, content=b"")
    bytes_ = await outside.get(response.json()["@microsoft.graph.downloadUrl"])

    assert (response.status_code, response.json()["size"], bytes_.content) == (201, 0, b"")


async def test_upload_without_content_length_is_accepted(client, world):
    async def pieces():
        for _ in range(4):
            yield b"x" * 100_000

    place = f"/drives/{world.documents.drive_id}/root:/streamed.bin:/content"
    response = await client.put(place, content=pieces())

    assert response.json()["size"] == 400_000


async def test_interrupted_upload_leaves_nothing(client, world):
    async def pieces():
        yield b"x"
        raise RuntimeError("broken")

    place = f"/drives/{world.documents.drive_id}/root:/streamed.bin:/content"
    with pytest.raises(RuntimeError, match="broken"):
        await client.put(place, content=pieces())

    assert world.store.child(world.documents, "streamed.bin") is None
    assert list(world.store.blobs.folder.iterdir()) == []


async def test_full_library_refuses_uploads(client, world):
    drive = world.store.get(r.Library, world.documents.drive_id)
    room = world.store.used_bytes(drive.id) + 100
    world.store.put(msgspec.structs.replace(drive, quota=room))
    place = f"/drives/{drive.id}/root:/x.bin"
    small = await client.put(f"{place}:/content", content=b"x" * 100)
    large = await client.put(f"{place}2:/content", content=b"x" * 101)
    planned = await client.post(
        f"{place}3:/createUploadSession", json={"item": {"name": "x.bin3", "fileSize": 101}}
    )

    assert small.status_code == 201
    assert code(large) == (507, "quotaLimitReached")
    assert code(planned) == (507, "quotaLimitReached")


# -- upload sessions


async def test_upload_session_accepts_parts_in_order(client, world, outside):
    total = STEP + 10
    begun = await session(client, world)
    url = begun["uploadUrl"]
    first = await outside.put(url, content=b"a" * STEP, headers=part(0, STEP, total))
    status = await outside.get(url)
    last = await outside.put(url, content=b"b" * 10, headers=part(STEP, 10, total))
    again = await outside.get(url)

    assert begun["nextExpectedRanges"] == ["0-"]
    assert url.startswith("http://content.test/")
    assert first.status_code == 202
    assert first.json() == {
        "expirationDateTime": begun["expirationDateTime"],
        "nextExpectedRanges": [f"{STEP}-{total - 1}"],
    }
    assert status.json() == first.json()
    assert (last.status_code, last.json()["name"], last.json()["size"]) == (201, "big.bin", total)
    assert code(again) == (404, "itemNotFound")


@pytest.mark.parametrize(
    "row",  # start, size, total, refusal
    [
        (0, STEP, 3 * STEP, (416, "invalidRange")),
        (2 * STEP, STEP, 3 * STEP, (416, "invalidRange")),
        (STEP, 100, 3 * STEP, (400, "invalidRequest")),
        (STEP, STEP, 4 * STEP, (400, "invalidRequest")),
    ],
)
async def test_unexpected_part_is_refused(client, world, outside, row):
    start, size, total, expected = row
    url = (await session(client, world))["uploadUrl"]
    await outside.put(url, content=b"a" * STEP, headers=part(0, STEP, 3 * STEP))
    refused = await outside.put(url, content=b"b" * size, headers=part(start, size, total))

    assert code(refused) == expected
    assert (await outside.get(url)).json()["nextExpectedRanges"] == [f"{STEP}-{3 * STEP - 1}"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-range": "bytes 0-9/10"}, {"content-range": "bytes 5-1/10"},
     {"content-range": "x"}],
)  # fmt: skip
async def test_invalid_content_range_is_refused(client, world, outside, headers):
    url = (await session(client, world))["uploadUrl"]

    assert code(await outside.put(url, content=b"abc", headers=headers)) == (400, "invalidRequest")


async def test_upload_session_refuses_credentials(client, world, outside):
    url = (await session(client, world))["uploadUrl"]
    headers = {**part(0, 1, 1), "authorization": "Bearer x"}

    assert (await outside.put(url, content=b"a", headers=headers)).status_code == 401


async def test_cancelled_upload_session_leaves_nothing(client, world, outside):
    url = (await session(client, world))["uploadUrl"]
    await outside.put(url, content=b"a" * STEP, headers=part(0, STEP, 2 * STEP))
    cancelled = await outside.delete(url)

    assert cancelled.status_code == 204
    assert (await outside.get(url)).status_code == 404
    assert list(world.store.blobs.folder.iterdir()) == []


async def test_upload_session_expires(client, world, outside):
    url = (await session(client, world))["uploadUrl"]
    world.now += world.store.settings.session_seconds + 1

    assert (await outside.put(url, content=b"a", headers=part(0, 1, 1))).status_code == 404


@pytest.mark.parametrize(
    "row",  # behaviour, status, name
    [("fail", 409, None), ("replace", 200, "notes.txt"), ("rename", 201, "notes 1.txt")],
)
async def test_name_conflict_is_reported_at_the_end_of_a_session(client, world, outside, row):
    behaviour, status, name = row
    url = (await session(client, world, "notes.txt", behaviour))["uploadUrl"]
    response = await outside.put(url, content=b"a", headers=part(0, 1, 1))

    assert response.status_code == status
    if name is None:
        assert code(response) == (409, "nameAlreadyExists")
        assert len(world.store.children(world.documents)) == 2
    else:
        assert response.json()["name"] == name


async def test_interrupted_part_can_be_repeated(client, world, outside):
    url = (await session(client, world))["uploadUrl"]

    async def pieces():
        yield b"a" * 10
        raise RuntimeError("broken")

    headers = {**part(0, STEP, STEP), "content-length": str(STEP)}
    with pytest.raises(RuntimeError):
        await outside.put(url, content=pieces(), headers=headers)
    response = await outside.put(url, content=b"b" * STEP, headers=part(0, STEP, STEP))

    assert (response.status_code, response.json()["size"]) == (201, STEP)


async def test_call_log_redacts_the_secrets_of_urls(client, world, outside):
    url = (await session(client, world))["uploadUrl"]
    await outside.put(url, content=b"a", headers=part(0, 1, 1))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(world.app)) as control:
        calls = (await control.get("http://sandbox.test/calls/collab")).json()["calls"]

    assert calls[-1]["path"] == "/content/uploadSession"
    assert calls[-1]["query"]["tempauth"] == ["…"]
    assert calls[-1]["bodySize"] == 1
