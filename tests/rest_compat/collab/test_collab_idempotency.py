"""Creation under an Idempotency-Key happens once, even if the gateway fails afterwards."""

import pytest

from providers.content.merged_content import MergedContent

UNKNOWN = "It is not known whether the provider made the change."
ITEM = {"fields": {"Title": "Mine", "Length": 7, "Paid": True}}
PEOPLE = {"type": "user", "role": "reader", "emailAddress": "bob@work.example"}
FILE = {"params": {"fileName": "sketch.pdf", "conflictBehavior": "rename"}, "content": b"x"}


@pytest.mark.parametrize(
    ("does", "path", "arguments"),
    [
        pytest.param(
            "create_list_item", lambda of: of.path("berths", 0), {"json": ITEM}, id="an item"
        ),
        pytest.param(
            "share", lambda of: f"/files/{of.id('sketch')}/share", {"json": PEOPLE}, id="a letter"
        ),
        pytest.param("upload", lambda _: "/files/upload", FILE, id="a file of another name"),
    ],
)
async def test_an_unrecognizable_duplicate_is_not_created_again(
    content, monkeypatch, does, path, arguments
):
    create, created = getattr(MergedContent, does), []

    async def failing(*arguments, **more):
        created.append(await create(*arguments, **more))
        raise RuntimeError

    monkeypatch.setattr(MergedContent, does, failing)
    if "params" in arguments:
        arguments = {
            **arguments,
            "params": {**arguments["params"], "folderId": content.id("boats")},
        }
    keyed = {**arguments, "headers": {"Idempotency-Key": "k"}}

    first = await content.call("POST", path(content), **keyed)
    later = [await content.call("POST", path(content), **keyed) for _ in range(2)]

    assert first.status_code == 500
    for response in later:
        assert (response.status_code, response.json()["message"]) == (504, UNKNOWN)
    assert [response.headers.get("idempotent-replayed") for response in later] == [None, "true"]
    assert len(created) == 1


async def test_a_retry_with_a_taken_name_is_a_conflict(content, monkeypatch):
    create = MergedContent.create_folder

    async def failing(*arguments, **more):
        await create(*arguments, **more)
        raise RuntimeError

    monkeypatch.setattr(MergedContent, "create_folder", failing)
    keyed = {
        "json": {"name": "Once", "parentFolderId": content.id("boats")},
        "headers": {"Idempotency-Key": "k"},
    }

    first = await content.call("POST", "/folders", **keyed)
    second = await content.call("POST", "/folders", **keyed)

    assert first.status_code == 500
    assert (second.status_code, second.json()["error"]) == (409, "NAME_CONFLICT")
