"""Uploads end to end: streamed in constant memory, and without traces when they break off."""

import asyncio
import json
import tracemalloc
from functools import partial
from pathlib import Path

import pytest

SIZE = 12 * 1024 * 1024


def scope(content, token, size, name="big.bin"):
    query = f"fileName={name}&folderId={content.id('boats')}"
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/access/collab/files/upload",
        "raw_path": b"/api/access/collab/files/upload",
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"authorization", f"Bearer {token}".encode()),
            (b"content-length", str(size).encode()),
            (b"host", b"127.0.0.1:8000"),
        ],
        "client": ("10.9.9.9", 5000),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }


async def send(content, token, messages, size):
    """Upload over raw ASGI: *messages* are received by the server; return what it sends."""
    remaining_messages, sent_messages = list(messages), []

    async def receive():
        if remaining_messages:
            return remaining_messages.pop(0)
        return await asyncio.Future()

    async def send_message(message):
        sent_messages.append(message)

    await content.world.gateway(scope(content, token, size), receive, send_message)
    return sent_messages, remaining_messages


def chunk(data, *, more=True):
    return {"type": "http.request", "body": data, "more_body": more}


async def test_a_closed_connection_leaves_nothing_behind(content):
    token = await content.block_all_token(
        ("folder", content.id("boats"), "allow"), ("file_id", content.id("boats"), "allow")
    )
    piece = b"x" * 1024 * 1024
    messages = [*[chunk(piece)] * 5, {"type": "http.disconnect"}]

    sent_messages, _ = await send(content, token, messages, SIZE)

    assert sent_messages == []
    assert "big.bin" not in content.names("documents")
    assert [rule["source"] for rule in await content.rules(token)] == ["manual", "manual"]


async def test_reading_stops_at_the_upload_limit(content, monkeypatch):
    from rest_compat import uploads

    monkeypatch.setattr(uploads, "MAX_UPLOAD", 5 * 1024 * 1024)
    token = await content.token()
    piece = b"x" * 1024 * 1024
    connection_scope = without_length(scope(content, token, 0))
    sent_messages, remaining_messages = [], [chunk(piece)] * 20

    async def receive():
        return remaining_messages.pop(0)

    async def send_message(message):
        sent_messages.append(message)

    await content.world.gateway(connection_scope, receive, send_message)

    assert sent_messages[0]["status"] == 413
    assert len(remaining_messages) >= 13
    assert "big.bin" not in content.names("documents")


def without_length(connection_scope):
    headers = [header for header in connection_scope["headers"] if header[0] != b"content-length"]
    return {**connection_scope, "headers": headers}


@pytest.mark.parametrize("announced", [SIZE - 1, SIZE + 1])
async def test_a_wrong_content_length_stores_nothing(content, announced):
    token = await content.token()
    piece = b"x" * 1024 * 1024

    sent_messages, _ = await send(
        content, token, [*[chunk(piece)] * 11, chunk(piece, more=False)], announced
    )

    assert sent_messages[0]["status"] == 400
    assert "big.bin" not in content.names("documents")


async def test_a_full_disk_refuses_an_upload_of_unknown_size_before_any_call(content, monkeypatch):
    """Its bytes are counted in a temporary file first; with room again, it is stored."""
    from providers.connectors.collab.files import uploads

    token = await content.token()
    piece = b"x" * 1024 * 1024

    async def upload():
        remaining = [*[chunk(piece)] * 11, chunk(piece, more=False)]
        sent = []

        async def receive():
            return remaining.pop(0)

        async def send_message(message):
            sent.append(message)

        connection_scope = without_length(scope(content, token, 0))
        await content.world.gateway(connection_scope, receive, send_message)
        return sent[0]["status"], sent[1]["body"]

    with monkeypatch.context() as full:
        full.setattr(uploads, "TemporaryFile", partial(Path("/dev/full").open, "w+b"))
        before = content.names("documents")
        content.forget_calls()
        status, body = await upload()

    assert status == 503
    assert "no disk space" in json.loads(body)["message"]
    assert {call["method"] for call in content.calls()} <= {"GET"}
    assert content.names("documents") == before
    assert (await upload())[0] == 200
    assert "big.bin" in content.names("documents")


async def test_a_refused_upload_is_not_read(content):
    token = await content.token(("file_id", content.id("boats"), "block"))

    sent_messages, remaining_messages = await send(
        content, token, [chunk(b"x" * 1024 * 1024)] * 12, SIZE
    )

    assert sent_messages[0]["status"] == 404
    assert (
        len(remaining_messages) >= 8
    )  # only the bytes that came before the upload was admitted were read


async def test_an_upload_is_streamed_in_constant_memory(content):
    """The sandbox writes to disk in this process, so memory holds a chunk or two."""
    token = await content.token()
    piece = b"x" * 64 * 1024
    messages = [*[chunk(piece)] * (SIZE // len(piece) - 1), chunk(piece, more=False)]
    await content.get("/sites", token)  # a finished creation stays
    tracemalloc.start()
    try:
        sent_messages, remaining_messages = await send(content, token, messages, SIZE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (sent_messages[0]["status"], remaining_messages) == (200, [])
    assert "big.bin" in content.names("documents")
    assert peak < 1.5 * SIZE


# -- under a key


async def upload_with_key(content, data, **more):
    """Upload under one key; return the status, the error and whether it is a replay."""
    path = f"/files/upload?fileName=key.txt&folderId={content.id('boats')}"
    headers = {"idempotency-key": "k", "content-type": "text/plain"}
    response = await content.call("POST", path, content=data, headers=headers, **more)
    return (
        response.status_code,
        response.json().get("error"),
        response.headers.get("idempotent-replayed"),
    )


async def parts(*pieces):
    for piece in pieces:
        yield piece


async def test_the_same_bytes_under_a_key_are_stored_once(content):
    first = await upload_with_key(content, b"hello")
    content.forget_calls()

    assert first == (200, None, None)
    assert await upload_with_key(content, b"hello") == (200, None, "true")
    assert content.calls() == []


@pytest.mark.parametrize("other", [b"other", b"hello, all"], ids=["as many bytes", "more bytes"])
async def test_other_bytes_under_a_key_are_refused(content, other):
    await upload_with_key(content, b"hello")
    content.forget_calls()

    assert await upload_with_key(content, other) == (409, "IDEMPOTENCY_KEY_REUSED", None)
    assert content.calls() == []


async def test_chunked_uploads_under_a_key_are_compared_by_digest(content):
    await upload_with_key(content, parts(b"hel", b"lo"))
    content.forget_calls()

    assert await upload_with_key(content, parts(b"h", b"ello")) == (200, None, "true")
    assert await upload_with_key(content, parts(b"hel", b"p")) == (
        409,
        "IDEMPOTENCY_KEY_REUSED",
        None,
    )
    assert content.calls() == []


async def test_a_refusal_before_the_body_is_replayed_for_any_body(content):
    token = await content.token(("file_id", content.id("boats"), "block"))

    assert await upload_with_key(content, b"hello", token=token) == (404, "BLOCKED", None)
    assert await upload_with_key(content, b"other", token=token) == (404, "BLOCKED", "true")
