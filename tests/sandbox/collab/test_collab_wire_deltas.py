"""What has changed in a library."""

import msgspec


async def test_pages_end_with_a_link_to_what_changes_later(client, world):
    drive = world.documents.drive_id
    names, path = [], f"/drives/{drive}/root/delta?$select=name&$top=2"
    while path:
        body = (await client.get(path)).json()
        names += [item["name"] for item in body["value"]]
        path = body.get("@odata.nextLink", "").partition("/v1.0")[2]
    delta = body["@odata.deltaLink"].partition("/v1.0")[2]

    assert sorted(names) == sorted(
        item.name if item.parent_id else "root" for item in world.store.items(drive)
    )
    assert (await client.get(delta)).json()["value"] == []

    notes = next(item for item in world.store.items(drive) if item.name == "notes.txt")
    world.store.put(msgspec.structs.replace(notes, description="New"))
    changed = (await client.get(delta)).json()
    assert [item["name"] for item in changed["value"]] == ["root", "notes.txt"]
    assert all("path" not in item.get("parentReference", {}) for item in changed["value"])
    world.store.delete(notes)
    (gone,) = (await client.get(changed["@odata.deltaLink"].partition("/v1.0")[2])).json()["value"]
    assert gone == {
        "id": notes.id,
        "parentReference": {"driveType": "documentLibrary", "driveId": drive},
        "deleted": {"state": "deleted"},
    }


async def test_an_unknown_token_begins_anew(client, world):
    response = await client.get(f"/drives/{world.documents.drive_id}/root/delta?token=x")

    assert response.status_code == 410
    assert response.json()["error"]["code"] == "resyncRequired"


async def test_folders_and_filters_have_no_delta(client, world):
    drive = world.documents.drive_id
    folder = next(item for item in world.store.items(drive) if item.is_folder and item.parent_id)
    for path in (f"items/{folder.id}/delta", "root/delta?$filter=name eq 'x'"):
        assert (await client.get(f"/drives/{drive}/{path}")).status_code == 400
