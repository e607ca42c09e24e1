"""Effects of uploads: their size, and a digest that covers every byte."""

import base64
import hashlib

import pytest
import whole_world
from sqlmodel import func, select
from twenty_writes import upstream_writes

from gateway.store import uploads
from gateway.store.tables import UploadRow
from sandbox.collab.records import Item

DRY = {"prefer": "dry-run"}
ATTACHMENTS = "/api/access/email/attachments"
FILES = "/api/access/collab/files/upload"
SEND = "/api/access/email/messages/send"
SIZES = {"small": 5, "large": 5_000_000}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("bytes") / "world") as whole:
        yield whole


def forget_calls(whole):
    for wire in whole.world.sandbox.upstreams.values():
        wire.calls.clear()


def content_of(size, letter):
    return b"x" * (size - 1) + letter


def upload(whole, path, content, headers, *, name="a.txt", chunked=False):
    """Upload a file by REST, with an announced length unless it is *chunked*."""

    async def chunks():
        yield content[:4]
        yield content[4:]

    params = {"fileName": name}
    if path == FILES:
        params["folderId"] = whole.parameters["folderId"]
    body = chunks() if chunked else content
    return whole.call("POST", path, params=params, content=body, headers=headers)[0]


def stored_uploads(whole):
    async def count():
        async with whole.world.gateway.services.database.reading() as session:
            return (await session.exec(select(func.count()).select_from(UploadRow))).one()

    return whole.runner.run(count())


@pytest.mark.slow
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("path", [ATTACHMENTS, FILES])
def test_other_bytes_of_the_same_size_are_another_effect(whole, path, size, chunked):
    name = f"{size}-{chunked}.txt"
    first, second = content_of(SIZES[size], b"1"), content_of(SIZES[size], b"2")
    forget_calls(whole)
    before = stored_uploads(whole)
    dry = upload(whole, path, first, DRY, name=name, chunked=chunked)
    assert dry.status_code == 201 if path == ATTACHMENTS else 200, dry.text
    effect = dry.json()["effect"]
    sizes = [change for change in effect["changes"] if change["field"] == "size"]
    assert sizes == [{"field": "size", "from": None, "to": SIZES[size]}]
    expected = {"if-effect": effect["digest"]}

    refused = upload(whole, path, second, expected, name=name)

    assert (refused.status_code, refused.json()["error"]) == (412, "EFFECT_CHANGED")
    assert upstream_writes(whole) == []
    assert stored_uploads(whole) == before
    real = upload(whole, path, first, expected, name=name)
    assert real.status_code == dry.status_code, real.text
    if path == ATTACHMENTS:
        assert stored_uploads(whole) == before + 1
        whole.call("DELETE", f"{ATTACHMENTS}/{real.json()['handle']}")
    else:
        shelf = whole.world.sandbox.state.content
        (item,) = [item for item in shelf.every(Item) if item.name == name]
        stored = shelf.blobs.path(item.blob).read_bytes()
        assert hashlib.sha256(stored).digest() == hashlib.sha256(first).digest()


def test_both_apis_show_the_same_effect_of_an_attachment(whole):
    params = {"fileName": "a.txt", "contentType": "text/plain"}
    rest = whole.call("POST", ATTACHMENTS, params=params, content=b"bytes", headers=DRY)[0].json()
    query = (
        "mutation($input: FileContent!) {"
        ' uploadEmailAttachment(input: $input, fileName: "a.txt", contentType: "text/plain")'
        " { size } }"
    )
    variables = {"input": base64.b64encode(b"bytes").decode()}
    request = {"query": query, "variables": variables, "extensions": {"dryRun": True}}
    graph = whole.call("POST", "/graphql", json=request)[0].json()

    assert graph["extensions"]["effect"] == rest["effect"]
    rest["effect"].pop("digest")
    assert rest["effect"] == {
        "changes": [
            {"field": "name", "from": None, "to": "a.txt"},
            {"field": "contentType", "from": None, "to": "text/plain"},
            {"field": "size", "from": None, "to": 5},
        ],
        "allowedBy": {"operation": "send_email"},
    }


@pytest.mark.parametrize(("limit", "value"), [("MAX_FILES", 1), ("MAX_BYTES", 8)])
def test_a_dry_upload_beyond_the_limits_is_refused_as_the_real_one(
    whole, monkeypatch, limit, value
):
    """The whole world has one upload of four bytes."""
    monkeypatch.setattr(uploads, limit, value)
    forget_calls(whole)
    dry = upload(whole, ATTACHMENTS, b"bytes", DRY)
    real = upload(whole, ATTACHMENTS, b"bytes", {})

    assert (dry.status_code, dry.json()["error"]) == (422, "UPLOAD_LIMIT")
    assert {**dry.json(), "requestId": ""} == {**real.json(), "requestId": ""}


def test_an_attachment_by_another_handle_is_another_effect(whole):
    """The files have the same name, type and size."""
    first, second = (
        upload(whole, ATTACHMENTS, content, {}).json()["handle"] for content in (b"1", b"2")
    )
    message = {"to": [{"email": "bo@work.example"}], "subject": "s", "body": "b"}
    calls = [{**message, "attachments": [{"handle": handle}]} for handle in (first, second)]
    typed = {**message, "attachments": [{"handle": first, "contentType": "text/html"}]}
    digest = whole.call("POST", SEND, json=calls[0], headers=DRY)[0].json()["effect"]["digest"]
    forget_calls(whole)

    for changed in (calls[1], typed):
        refused = whole.call("POST", SEND, json=changed, headers={"if-effect": digest})[0]
        assert (refused.status_code, refused.json()["error"]) == (412, "EFFECT_CHANGED")
    assert upstream_writes(whole) == []
    sent = whole.call("POST", SEND, json=calls[0], headers={"if-effect": digest})[0]
    assert sent.status_code == 200, sent.text


def test_a_file_that_changed_is_not_replaced(whole):
    upload(whole, FILES, b"old", {}, name="r.txt")
    params = {
        "folderId": whole.parameters["folderId"],
        "fileName": "r.txt",
        "conflictBehavior": "replace",
    }
    dry = whole.call("POST", FILES, params=params, content=b"new", headers=DRY)[0].json()
    assert dry["effect"]["takenNames"] == ["r.txt"]
    assert whole.call("POST", FILES, params=params, content=b"other")[0].status_code == 200
    forget_calls(whole)
    expected = {"if-effect": dry["effect"]["digest"]}
    refused = whole.call("POST", FILES, params=params, content=b"new", headers=expected)[0]

    assert (refused.status_code, refused.json()["error"]) == (412, "EFFECT_CHANGED")
    assert upstream_writes(whole) == []
