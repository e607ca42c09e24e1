"""Dry runs of content writes: nothing is written, and the real call does what the effect says."""

import pytest
from sqlmodel import select

from gateway.store.tables import RuleIntent

DRY = {"prefer": "dry-run"}
UPLOAD = "/files/upload"


def writes(content):
    calls = [call for call in content.calls() if call["method"] not in {"GET", "HEAD"}]
    return [call for call in calls if not call["path"].endswith(("$batch", "/search/query"))]


async def permission_of(content):
    """Share a file unless it is shared; return the path of its permissions, and the one made."""
    path = f"/files/{content.id('house')}"
    permissions = (await content.get(f"{path}/permissions")).json()["permissions"]
    made = [item["id"] for item in permissions if item["emailAddress"] == "bob@x.example"]
    if not made:
        body = {"type": "user", "role": "writer", "emailAddress": "bob@x.example"}
        made = [(await content.call("POST", f"{path}/share", json=body)).json()["permissionId"]]
    return f"{path}/permissions", made[0]


async def calls(content):
    """Return every write: its name, then the arguments of `ContentWorld.call`."""
    path, permission = await permission_of(content)
    upload = {"folderId": content.id("boats"), "fileName": "new.txt", "description": "About"}
    large = {**upload, "fileName": "l.bin"}
    new = {"fields": {"Title": "B", "Length": 3}}
    changed = {"fields": {"Length": 9, "State": "Let"}}
    target = {"destinationFolderId": content.id("houses")}
    share = {"type": "user", "role": "writer", "emailAddress": "bo@x.example", "message": "See"}
    notes, sketch = f"/files/{content.id('notes')}", f"/files/{content.id('sketch')}"
    folder = {"name": "New", "parentFolderId": content.id("boats")}
    return [
        ("upload", "POST", UPLOAD, {"params": upload, "content": b"bytes"}),
        ("upload large", "POST", UPLOAD, {"params": large, "content": b"x" * 5_000_000}),
        ("create folder", "POST", "/folders", {"json": folder}),
        ("rename", "PATCH", f"{notes}/rename", {"json": {"newName": "words.txt"}}),
        ("move", "PATCH", f"{sketch}/move", {"json": target}),
        ("share", "POST", f"{notes}/share", {"json": share}),
        ("update permission", "PATCH", f"{path}/{permission}", {"json": {"role": "reader"}}),
        ("delete permission", "DELETE", f"{path}/{permission}", {}),
        ("delete", "DELETE", sketch, {}),
        ("create item", "POST", content.path("berths", 0), {"json": new}),
        ("update item", "PATCH", content.path("berths", 1), {"json": changed}),
        ("delete item", "DELETE", content.path("berths", 2), {}),
    ]


NAMES = [
    *("upload", "upload large", "create folder", "rename", "move", "share"),
    *("update permission", "delete permission", "delete"),
    *("create item", "update item", "delete item"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
async def test_the_real_write_does_what_its_effect_says(content, name):
    method, path, more = next(row[1:] for row in await calls(content) if row[0] == name)
    before = await state(content)
    content.forget_calls()
    dry = await content.call(method, path, **more, headers=DRY)
    assert dry.status_code < 300, dry.text
    answer = dry.json()
    effect = answer["effect"]
    assert writes(content) == []
    assert await state(content) == before
    content.forget_calls()

    headers = {"if-effect": effect["digest"]}
    real = await content.call(method, path, **more, headers=headers)
    assert len(writes(content)) >= 1
    assert effect["account"]["email"] == "ann@x.example"
    assert answer["dryRun"] is True
    if real.status_code == 204:
        assert (dry.status_code, list(answer)) == (200, ["success", "dryRun", "effect"])
    else:
        assert dry.status_code == real.status_code
        assert [*real.json(), "dryRun", "effect"] == list(answer)
    await CHECKS[name](content, effect, answer, real)


async def state(content):
    """Return the names of all files, the permissions and the list items."""
    path, _ = await permission_of(content)
    return (
        content.names("documents"),
        (await content.get(path)).json(),
        (await content.get(content.path("berths", 0))).json(),
    )


async def check_new_file(content, effect, answer, real):
    file = (await content.get(f"/files/{real.json()['fileId']}")).json()["file"]
    assert answer["fileId"] is None
    assert effect["target"] == {"kind": "folder", "id": file["parentFolderId"]}
    described = {change["field"]: change["to"] for change in effect["changes"]}
    described.pop("description", None)  # not every library keeps it
    assert described == {field: file[field] for field in described}


async def check_renaming(content, effect, answer, real):
    file = (await content.get(f"/files/{real.json()['fileId']}")).json()["file"]
    assert answer["fileId"] == file["id"]
    assert effect["target"] == {"kind": "file", "id": file["id"]}
    assert effect["changes"] == [{"field": "name", "from": "notes.txt", "to": file["name"]}]


async def check_move(content, effect, answer, real):
    file = (await content.get(f"/files/{real.json()['fileId']}")).json()["file"]
    assert answer["fileId"] == file["id"]
    assert effect["destination"] == {"kind": "folder", "id": file["parentFolderId"]}


async def check_share(content, effect, answer, real):
    permissions = (await content.get(f"/files/{content.id('notes')}/permissions")).json()
    new = [item for item in permissions["permissions"] if item["id"] == real.json()["permissionId"]]
    assert [item["emailAddress"] for item in new] == [
        person["email"] for person in effect["recipients"]["to"]
    ]
    assert [(item["type"], item["role"]) for item in new] == [
        tuple(change["to"] for change in effect["changes"])
    ]
    assert (answer["role"], answer["permissionId"]) == (real.json()["role"], None)


async def check_permission(content, effect, answer, real):
    path = f"/files/{content.id('house')}/permissions"
    by_id = {item["id"]: item for item in (await content.get(path)).json()["permissions"]}
    (change,) = effect["changes"]
    changed = by_id.get(effect["target"]["id"])
    assert change["from"] == "writer"
    assert change["to"] == (changed["role"] if changed else None)
    if changed:
        holders = [person["email"] for person in effect["recipients"]["to"]]
        assert holders == [changed["emailAddress"]]
        assert {**real.json()} == {key: answer[key] for key in real.json()}


async def check_deletion(content, effect, answer, real):
    assert effect["destination"] == {"kind": "recycleBin"}
    assert effect["target"] == {"kind": "file", "id": content.id("sketch")}
    assert (await content.get(f"/files/{content.id('sketch')}")).status_code == 404


async def check_new_row(content, effect, answer, real):
    assert effect["target"] == {"kind": "list", "id": content.id("berths")}
    described = {change["field"]: change["to"] for change in effect["changes"]}
    assert described == {field: real.json()["fields"][field] for field in described}


async def check_row(content, effect, answer, real):
    assert effect["target"] == {"kind": "listItem", "id": content.row("berths", 1)}
    assert effect["changes"] == [
        {"field": "Length", "from": 2, "to": real.json()["fields"]["Length"]},
        {"field": "State", "from": "Free", "to": real.json()["fields"]["State"]},
    ]
    assert answer["id"] == real.json()["id"]


async def check_row_deletion(content, effect, answer, real):
    assert effect["target"] == {"kind": "listItem", "id": content.row("berths", 2)}
    assert (await content.get(content.path("berths", 2))).status_code == 404


CHECKS = {
    "upload": check_new_file,
    "upload large": check_new_file,
    "create folder": check_new_file,
    "rename": check_renaming,
    "move": check_move,
    "share": check_share,
    "update permission": check_permission,
    "delete permission": check_permission,
    "delete": check_deletion,
    "create item": check_new_row,
    "update item": check_row,
    "delete item": check_row_deletion,
}


@pytest.mark.parametrize(
    ("method", "path", "more"),
    [
        pytest.param(
            "POST",
            UPLOAD,
            {"params": {"folderId": "boats", "fileName": "sketch.pdf"}, "content": b"x"},
            id="upload",
        ),
        pytest.param(
            "POST",
            "/folders",
            {"json": {"name": "inner", "parentFolderId": "boats"}},
            id="create folder",
        ),
        pytest.param("PATCH", "/files/boats/rename", {"json": {"newName": "Houses"}}, id="rename"),
    ],
)
async def test_a_taken_name_is_refused_as_by_the_real_call(content, method, path, more):
    ids = {name: content.id(name) for name in ("boats", "inner", "houses", "sketch")}
    path = "/".join(ids.get(segment, segment) for segment in path.split("/"))
    for body in more.values():
        if isinstance(body, dict):
            body.update({key: ids[value] for key, value in body.items() if value == "boats"})
    content.forget_calls()
    dry = await content.call(method, path, **more, headers=DRY)
    assert writes(content) == []
    real = await content.call(method, path, **more)

    assert dry.status_code == real.status_code == 409
    assert {**dry.json(), "requestId": None} == {**real.json(), "requestId": None}


@pytest.mark.parametrize("conflict", ["replace", "rename"])
async def test_a_taken_name_that_prevents_nothing_is_in_the_effect(content, conflict):
    params = {
        "folderId": content.id("boats"),
        "fileName": "sketch.pdf",
        "conflictBehavior": conflict,
    }
    response = await content.call("POST", UPLOAD, params=params, content=b"x", headers=DRY)

    assert response.json()["effect"]["takenNames"] == ["sketch.pdf"]
    assert writes(content) == []


@pytest.mark.parametrize("content_length", [None, "9"])
async def test_the_bytes_of_a_dry_upload_are_checked(content, content_length):
    """An upload of another size than announced is refused as by the real call."""

    async def chunks():
        yield b"x" * 5_000_000

    headers = {"content-length": "6000000"} if content_length else {}
    params = {"folderId": content.id("boats"), "fileName": "l.bin"}
    call = {"params": params, "content": chunks()}
    dry = await content.call("POST", UPLOAD, **call, headers={**DRY, **headers})
    real = await content.call("POST", UPLOAD, **{**call, "content": chunks()}, headers=headers)

    assert dry.status_code == real.status_code
    assert "l.bin" in content.names("documents") or real.status_code != 200


@pytest.mark.parametrize("name", ["rename", "delete", "update item", "delete item"])
async def test_an_old_version_is_refused_as_by_the_real_call(content, name):
    method, path, more = next(row[1:] for row in await calls(content) if row[0] == name)
    stale = {"if-match": '"old,1"'}
    content.forget_calls()
    dry = await content.call(method, path, **more, headers={**DRY, **stale})
    assert writes(content) == []
    real = await content.call(method, path, **more, headers=stale)

    assert dry.status_code == real.status_code == 412
    assert dry.json()["error"] == real.json()["error"] == "PRECONDITION_FAILED"
    assert {**dry.json(), "requestId": None} == {**real.json(), "requestId": None}


@pytest.mark.parametrize("name", ["rename", "delete", "update item", "delete item", "share"])
async def test_what_has_moved_refuses_the_write(content, name):
    method, path, more = next(row[1:] for row in await calls(content) if row[0] == name)
    effect = (await content.call(method, path, **more, headers=DRY)).json()["effect"]
    if name == "share":
        more = {"json": {**more["json"], "message": "Another"}}
    elif "item" in name:
        await content.call("PATCH", path, json={"fields": {"Length": 1}})
    else:
        renamed = path.removesuffix("/rename")
        await content.call("PATCH", f"{renamed}/rename", json={"newName": "moved.txt"})
    before = await state(content)
    content.forget_calls()

    response = await content.call(method, path, **more, headers={"if-effect": effect["digest"]})

    assert (response.status_code, response.json()["error"]) == (412, "EFFECT_CHANGED")
    assert writes(content) == []
    assert await state(content) == before


async def test_a_block_all_token_stores_no_rule(content):
    list_rule = ("list_id", content.id("berths"), "allow")
    token = await content.block_all_token(list_rule)
    rules = await content.rules(token)
    fields = {"fields": {"Title": "B"}}
    path = content.path("berths", 0)
    dry = await content.call("POST", path, token, json=fields, headers=DRY)
    assert await content.rules(token) == rules
    headers = {"if-effect": dry.json()["effect"]["digest"]}
    real = await content.call("POST", path, token, json=fields, headers=headers)

    assert dry.status_code == real.status_code == 201
    assert len(await content.rules(token)) == len(rules) + 1
    assert len(await intents(content)) == 0


async def intents(content):
    """Return the intents that were not ended."""
    async with content.world.gateway.services.database.reading() as session:
        return (await session.exec(select(RuleIntent))).all()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"visibleCollabFields": ["mime_type"]}, id="masked"),
        pytest.param(
            {"allowedCollabOperations": ["rename_file", "update_permissions", "write_list_item"]},
            id="no flag to read",
        ),
    ],
)
async def test_what_is_hidden_stays_hidden_in_the_effect(content, settings):
    token = await content.token(**settings)
    for name in ("rename", "update permission", "update item"):
        method, path, more = next(row[1:] for row in await calls(content) if row[0] == name)
        response = await content.call(method, path, token, **more, headers=DRY)
        assert response.status_code == 200, response.text
        effect = response.json()["effect"]
        assert [change["from"] for change in effect["changes"]] == [None] * len(effect["changes"])
        for secret in ("notes.txt", "bob@", "Bob", "Free"):
            assert secret not in response.text
