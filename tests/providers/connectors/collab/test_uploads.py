"""Uploads, against the sandbox; no failure leaves anything upstream."""

import asyncio
import tracemalloc
from dataclasses import replace

import msgspec
import pytest
from collab_upstream import CONTENT, key

from providers.collab_ids import ItemKey
from providers.connectors.collab.files import uploads
from providers.failures import (
    Broken,
    Conflicted,
    Missing,
    OutcomeUnknown,
    OutOfSpace,
    ProviderFailure,
    Refused,
    TimedOut,
    Unreachable,
)
from providers.http.client import deadline
from providers.ports.collab import MAX_UPLOAD, Upload, UploadTooLarge, UploadTruncated
from sandbox.collab import records as r
from sandbox.http import ConnectionCut

LARGE = uploads.SMALL + uploads.SLICE + 1000


class Stop(Exception):
    """Stands for a client that disconnects."""


async def pieces(body, size=100_000, *, stop_after=None):
    for at in range(0, len(body), size):
        if stop_after is not None and at >= stop_after:
            raise Stop
        yield body[at : at + size]


async def endless(size):
    block = bytes(64 * 1024)
    while size > 0:
        yield block[:size]
        size -= len(block)


def pattern(size):
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def upload(body=b"hello", *, name="new.bin", size=True, **more):
    chunks = more.pop("chunks", None) or pieces(body)
    return Upload(name=name, chunks=chunks, size=len(body) if size else None, **more)


@pytest.fixture
def port(tenant):
    return tenant.delegated().port


def names(tenant, folder):
    return [item.name for item in tenant.store.children(folder)]


def stored(tenant, file):
    item = tenant.store.item(file.drive, file.item)
    return tenant.store.blobs.path(item.blob).read_bytes()


@pytest.fixture
def nothing_left(tenant):
    """Return a check that nothing of an upload is left upstream."""

    def check():
        assert "new.bin" not in names(tenant, tenant.boats)
        assert tenant.store.every(r.Upload) == []
        assert list(tenant.store.blobs.folder.iterdir()) == []

    return check


@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize(
    "size",
    [
        pytest.param(0, id="empty"),
        pytest.param(5, id="small"),
        pytest.param(uploads.SMALL, id="the largest small one"),
        pytest.param(uploads.SMALL + 1, id="the smallest large one"),
        pytest.param(2 * uploads.SLICE, id="whole slices"),
        pytest.param(LARGE, id="slices and a rest"),
    ],
)
async def test_uploads_store_every_byte(tenant, port, size, known):
    body = pattern(size)

    file = await port.uploads.upload(key(tenant.boats), upload(body, size=known))

    assert (file.name, file.size, file.parent) == ("new.bin", size, key(tenant.boats))
    assert stored(tenant, file) == body
    assert tenant.store.every(r.Upload) == []


async def test_small_files_take_one_call(tenant, port):
    await port.uploads.upload(key(tenant.boats), upload(mime_type="text/plain", name="a.txt"))

    (call,) = tenant.calls
    assert (call["method"], call["query"]) == (
        "PUT",
        {"@microsoft.graph.conflictBehavior": ["fail"]},
    )
    assert call["headers"]["content-type"] == "text/plain"


async def test_slices_are_sent_without_credentials(tenant, port):
    await port.uploads.upload(key(tenant.boats), upload(pattern(LARGE)))

    puts = [call for call in tenant.calls if call["path"] == "/content/uploadSession"]
    assert [call["bodySize"] for call in puts] == [
        uploads.SLICE,
        uploads.SLICE,
        LARGE - 2 * uploads.SLICE,
    ]
    assert all("authorization" not in call["headers"] for call in puts)
    assert CONTENT != "http://upstream.example"


async def test_uploading_to_the_top_of_a_library(tenant, port):
    root = ItemKey(tenant.documents.drive_id, "root")

    small = await port.uploads.upload(root, upload(name="o'brien & sons #1 100%.txt"))
    large = await port.uploads.upload(root, upload(pattern(LARGE), name="größe+plus.bin"))

    assert small.parent == large.parent == key(tenant.documents)
    assert {"o'brien & sons #1 100%.txt", "größe+plus.bin"} <= set(names(tenant, tenant.documents))


@pytest.mark.parametrize("size", [5, LARGE], ids=["small", "large"])
async def test_uploading_a_taken_name_is_a_conflict(tenant, port, size):
    first = await port.uploads.upload(key(tenant.boats), upload(b"first"))

    with pytest.raises(Conflicted):
        await port.uploads.upload(key(tenant.boats), upload(pattern(size)))

    assert stored(tenant, first) == b"first"
    assert tenant.store.every(r.Upload) == []


@pytest.mark.parametrize("size", [5, LARGE], ids=["small", "large"])
async def test_uploading_a_taken_name_with_replace_or_rename(tenant, port, size):
    first = await port.uploads.upload(key(tenant.boats), upload(b"first"))

    other = await port.uploads.upload(key(tenant.boats), upload(pattern(size), conflict="rename"))
    same = await port.uploads.upload(key(tenant.boats), upload(pattern(size), conflict="replace"))

    assert (other.name, same.key) == ("new 1.bin", first.key)
    assert stored(tenant, same) == stored(tenant, other) == pattern(size)


@pytest.mark.parametrize("size", [5, LARGE], ids=["small", "large"])
async def test_uploading_to_a_full_library_fails(tenant, port, nothing_left, size):
    library = tenant.store.get(r.Library, tenant.boats.drive_id)
    tenant.store.put(msgspec.structs.replace(library, quota=1))

    with pytest.raises(OutOfSpace):
        await port.uploads.upload(key(tenant.boats), upload(pattern(size)))

    nothing_left()


@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
async def test_uploads_over_the_limit_are_refused(tenant, port, nothing_left, known):
    too_much = Upload(
        name="new.bin", chunks=endless(MAX_UPLOAD + 1), size=MAX_UPLOAD + 1 if known else None
    )

    with pytest.raises(UploadTooLarge):
        await port.uploads.upload(key(tenant.boats), too_much)

    nothing_left()


async def test_uploads_over_the_limit_are_refused_despite_a_smaller_announced_size(
    tenant, port, nothing_left
):
    liar = Upload(name="new.bin", chunks=endless(LARGE + 1), size=LARGE)

    with pytest.raises(UploadTruncated):
        await port.uploads.upload(key(tenant.boats), liar)

    nothing_left()


@pytest.mark.parametrize("announced", [6, LARGE, LARGE + uploads.SLICE])
async def test_fewer_bytes_than_announced_are_not_stored(tenant, port, nothing_left, announced):
    short = Upload(name="new.bin", chunks=pieces(pattern(announced - 1)), size=announced)

    with pytest.raises(UploadTruncated):
        await port.uploads.upload(key(tenant.boats), short)

    nothing_left()


@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
@pytest.mark.parametrize("after", [100_000, uploads.SMALL + 200_000, 2 * uploads.SLICE + 100_000])
async def test_an_aborted_upload_leaves_nothing(tenant, port, nothing_left, after, known):
    body = pattern(LARGE)
    cut = upload(body, size=known, chunks=pieces(body, stop_after=after))

    with pytest.raises(Stop):
        await port.uploads.upload(key(tenant.boats), cut)

    nothing_left()


async def test_a_cancelled_upload_leaves_nothing(tenant, port, nothing_left):
    reached = asyncio.Event()

    async def stuck():
        yield pattern(uploads.SMALL + uploads.SLICE)
        reached.set()
        await asyncio.Event().wait()

    work = asyncio.create_task(
        port.uploads.upload(key(tenant.boats), Upload(name="new.bin", chunks=stuck(), size=LARGE))
    )
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work

    nothing_left()
    assert tenant.paths[-1] == "DELETE /content/uploadSession"


async def test_an_upload_past_its_deadline_leaves_nothing(tenant, port, nothing_left):
    async def slow():
        yield pattern(uploads.SMALL + uploads.SLICE)
        deadline.set(0.0)
        yield pattern(LARGE - uploads.SMALL - uploads.SLICE)

    token = deadline.set(None)
    try:
        with pytest.raises(TimedOut):
            await port.uploads.upload(
                key(tenant.boats), Upload(name="new.bin", chunks=slow(), size=LARGE)
            )
    finally:
        deadline.reset(token)

    nothing_left()


async def test_a_failed_slice_is_sent_again(tenant, port):
    tenant.fault(kind="reset", match="uploadSession", method="PUT", count=1)

    file = await port.uploads.upload(key(tenant.boats), upload(pattern(LARGE)))

    assert stored(tenant, file) == pattern(LARGE)


@pytest.mark.slow  # three tries and the pauses between them
async def test_a_slice_that_keeps_failing_ends_the_upload(tenant, port, nothing_left):
    tenant.fault(kind="reset", match="uploadSession", method="PUT")

    with pytest.raises(ProviderFailure):
        await port.uploads.upload(key(tenant.boats), upload(pattern(LARGE)))

    nothing_left()


@pytest.mark.slow  # three tries and the pauses between them
async def test_a_refused_session_ends_the_upload(tenant, port, nothing_left):
    tenant.fault(kind="401", match="uploadSession", method="PUT")

    with pytest.raises(Broken):
        await port.uploads.upload(key(tenant.boats), upload(pattern(LARGE)))

    nothing_left()


async def test_a_stored_slice_with_a_lost_response_is_not_sent_twice(tenant, port):
    tenant.fault(kind="lostAnswer", match="uploadSession", method="PUT", count=1)

    file = await port.uploads.upload(key(tenant.boats), upload(pattern(LARGE)))

    assert stored(tenant, file) == pattern(LARGE)
    assert tenant.store.every(r.Upload) == []


async def test_a_file_with_a_lost_last_response_is_found(tenant, port):
    size = uploads.SMALL + 1
    place = next(mount for mount in tenant.upstream.mounts if mount.prefix == ("content",))
    at = tenant.upstream.mounts.index(place)

    async def losing(request):
        answer = await place.handler(request)
        if answer.status == 201:
            raise ConnectionCut("the answer is lost")
        return answer

    tenant.upstream.mounts[at] = replace(place, handler=losing)

    file = await port.uploads.upload(key(tenant.boats), upload(pattern(size)))

    assert stored(tenant, file) == pattern(size)


@pytest.fixture
def unreadable(tenant):
    """Make the response to the second and last slice of a file of `SMALL` + 1 bytes unreadable."""
    put = {"match": "uploadSession", "method": "PUT", "count": 1}
    tenant.fault(kind="slow", delay=0, **put)
    tenant.fault(kind="spoiltAnswer", **put)


@pytest.mark.usefixtures("unreadable")
async def test_a_file_with_an_unreadable_last_response_is_found(tenant, port):
    size = uploads.SMALL + 1

    file = await port.uploads.upload(key(tenant.boats), upload(pattern(size)))

    assert stored(tenant, file) == pattern(size)
    assert tenant.upstream.faults == []


@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize("conflict", ["rename", "replace"])
async def test_an_unreadable_last_response_is_unknown_when_an_older_file_may_have_the_name(
    tenant, port, conflict
):
    with pytest.raises(OutcomeUnknown):
        await port.uploads.upload(
            key(tenant.boats), upload(pattern(uploads.SMALL + 1), conflict=conflict)
        )

    assert names(tenant, tenant.boats).count("new.bin") == 1


@pytest.mark.parametrize("kind", ["lostAnswer", "spoiltAnswer"])
async def test_a_small_file_with_an_unreadable_response_has_an_unknown_outcome(tenant, port, kind):
    tenant.fault(kind=kind, match="content", method="PUT", count=1)

    with pytest.raises(OutcomeUnknown):
        await port.uploads.upload(key(tenant.boats), upload())


async def test_an_absent_small_file_was_surely_not_sent(tenant, port, nothing_left):
    tenant.fault(kind="reset", match="content", method="PUT", count=1)

    with pytest.raises(Unreachable) as raised:
        await port.uploads.upload(key(tenant.boats), upload())

    assert raised.value.sent is False
    nothing_left()


async def test_uploading_to_an_invisible_folder_is_missing(tenant, port):
    with pytest.raises((Missing, Refused)):
        await port.uploads.upload(key(tenant.minutes), upload())

    assert "new.bin" not in names(tenant, tenant.minutes)


async def test_descriptions_are_stored_where_upstream_keeps_them(tenant, port):
    file = await port.uploads.upload(key(tenant.boats), upload(description="A plan"))

    assert tenant.store.item(file.drive, file.item).description == "A plan"


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False], ids=["size known", "size unknown"])
async def test_uploads_run_in_constant_memory(port, tenant, known):
    async def peak(megabytes):
        size = megabytes * 1024 * 1024
        source = Upload(name=f"{megabytes}.bin", chunks=endless(size), size=size if known else None)
        tracemalloc.start()
        try:
            await port.uploads.upload(key(tenant.boats), source)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert await peak(48) < await peak(12) + 2 * 1024 * 1024
