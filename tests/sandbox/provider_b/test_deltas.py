"""Provider B's delta queries: rounds, pages, removals, and tokens that die."""

import pytest

from sandbox.provider_b.outlook_mail.sync_states import GENERATIONS

INBOX = "/me/mailFolders/inbox/messages/delta"
FOLDERS = "/me/mailFolders/delta"
IMMUTABLE = 'IdType="ImmutableId"'


async def page(client, url, *, size=None, **params):
    prefer = IMMUTABLE if size is None else f"{IMMUTABLE}, odata.maxpagesize={size}"
    response = await client.get(url, params=params or None, headers={"Prefer": prefer})
    assert response.status_code == 200, response.text
    body = response.json()
    assert ("@odata.nextLink" in body) != ("@odata.deltaLink" in body)
    return body


async def rounds(client, url, *, size=None, **params):
    """Read a round; return its records and the link to the next round."""
    body = await page(client, url, size=size, **params)
    records = body["value"]
    while "@odata.nextLink" in body:
        body = await page(client, body["@odata.nextLink"], size=size)
        records += body["value"]
    return records, body["@odata.deltaLink"]


def code(response):
    return response.status_code, response.json()["error"]["code"]


async def test_a_round_tells_what_came_changed_and_left(client, world):
    kept, read, trashed, deleted = (world.arrive(name, minute=at) for at, name in enumerate("abcd"))
    first, link = await rounds(client, INBOX, **{"$select": "subject"})
    assert [message["subject"] for message in first] == ["d", "c", "b", "a"]
    assert set(first[0]) == {"@odata.type", "@odata.etag", "id", "subject"}
    world.mails.update("provider-b", read.id, is_read=True)
    world.mails.update("provider-b", trashed.id, folder="trash", new_id=True)
    world.mails.delete("provider-b", deleted.id)
    new = world.arrive("e", minute=9)

    told, again = await rounds(client, link)

    assert {message["id"]: message.get("@removed", message.get("subject")) for message in told} == {
        read.immutable_id: "b",
        new.immutable_id: "e",
        trashed.immutable_id: {"reason": "changed"},
        deleted.immutable_id: {"reason": "deleted"},
    }
    assert kept.immutable_id not in {message["id"] for message in told}
    assert await rounds(client, again) == ([], again)  # nothing: the same token


async def test_a_message_that_left_and_came_back_is_told_as_removed_alone(client, world):
    mail = world.arrive("a")
    _, link = await rounds(client, INBOX)
    moved = world.mails.update("provider-b", mail.id, folder="archive", new_id=True)
    world.mails.update("provider-b", moved.id, folder="inbox", new_id=True)
    told, again = await rounds(client, link)
    assert [message.get("@removed") for message in told] == [{"reason": "changed"}]

    world.mails.update("provider-b", mail.immutable_id, is_read=True)
    told, _ = await rounds(client, again)
    assert ["@removed" in message for message in told] == [False]


async def test_pages_repeat_their_last_message(client, world):
    for at in range(5):
        world.arrive(f"m{at}", minute=at)
    told, _ = await rounds(client, INBOX, size=2)

    names = [message["subject"] for message in told]
    assert sorted(set(names)) == ["m0", "m1", "m2", "m3", "m4"]
    assert len(names) > 5


async def test_a_filter_hides_older_mail_for_good(client, world):
    old = world.arrive("old", minute=0)
    params = {"$filter": "receivedDateTime ge 2026-01-05T08:01:00Z"}
    told, link = await rounds(client, INBOX, **params, **{"$orderby": "receivedDateTime desc"})
    world.mails.update("provider-b", old.id, is_read=True)
    new = world.arrive("new", minute=1)

    assert told == []
    assert [message["id"] for message in (await rounds(client, link))[0]] == [new.immutable_id]


@pytest.mark.parametrize(
    "params",
    [
        {"$filter": "isRead eq false"},
        {"$filter": "receivedDateTime lt 2026-01-05T08:01:00Z"},
        {"$orderby": "subject"},
        {"$search": '"a"'},
        {"changeType": "moved"},
    ],
)
async def test_other_options_are_refused(client, params):
    assert code(await client.get(INBOX, params=params)) == (400, "ErrorInvalidUrlQuery")


async def test_only_one_type_of_changes_can_be_asked_for(client, world):
    mail = world.arrive("a")
    _, link = await rounds(client, INBOX, changeType="deleted")
    world.arrive("b")
    world.mails.delete("provider-b", mail.id)

    assert ["@removed" in entry for entry in (await rounds(client, link))[0]] == [True]


async def test_tokens_die_after_some_generations(client, world):
    _, first = await rounds(client, INBOX)
    link = first
    for at in range(GENERATIONS):
        world.arrive(f"m{at}")
        _, link = await rounds(client, link)

    assert code(await client.get(first)) == (410, "SyncStateNotFound")
    assert (await rounds(client, link))[0] == []
    world.now += 31 * 86_400
    assert code(await client.get(link)) == (410, "SyncStateNotFound")


async def test_a_token_belongs_to_its_folder(client, world):
    _, link = await rounds(client, INBOX)

    other = link.replace("/inbox/", "/archive/")
    assert code(await client.get(other)) == (400, "BadRequest")
    assert code(await client.get(INBOX, params={"$deltatoken": "abc"})) == (400, "BadRequest")
    assert code(await client.get("/me/messages/delta")) == (400, "BadRequest")


async def test_the_latest_token_is_not_known(client, world):
    world.arrive("a")
    told, _ = await rounds(client, INBOX, **{"$deltatoken": "latest"})
    assert len(told) == 1


@pytest.mark.parametrize("name", ["delta()", "microsoft.graph.delta", "microsoft.graph.delta()"])
async def test_the_names_of_vendors_clients_are_known(client, world, name):
    world.arrive("a")
    assert len((await rounds(client, INBOX.replace("delta", name)))[0]) == 1


async def test_folders_are_told_with_their_new_parents(client, world):
    made = (await client.post("/me/mailFolders", json={"displayName": "Boats"})).json()
    told, link = await rounds(client, FOLDERS, size=3, **{"$select": "displayName,parentFolderId"})
    assert len({folder["id"] for folder in told}) == 8
    folder = f"/me/mailFolders/{made['id']}"
    assert (await client.patch(folder, json={"displayName": "Ships"})).status_code == 200
    assert (await client.delete(folder)).status_code == 204
    told, link = await rounds(client, link)
    trash = (await client.get("/me/mailFolders/deleteditems")).json()["id"]
    placed = {folder["id"]: folder for folder in told}[made["id"]]
    assert (placed["displayName"], placed["parentFolderId"]) == ("Ships", trash)

    mail = world.arrive("a", folder="trash")
    world.mails.update("provider-b", mail.id, folder="folder:1")
    assert (await client.delete(folder)).status_code == 204

    told, _ = await rounds(client, link)
    assert {"id": made["id"], "@removed": {"reason": "deleted"}} in told
    assert world.all() == []


async def test_folders_of_the_service_stay(client):
    response = await client.delete("/me/mailFolders/inbox")
    assert code(response) == (400, "ErrorDeleteDistinguishedFolder")


async def test_a_folder_is_not_moved_into_itself(client):
    upper = (await client.post("/me/mailFolders", json={"displayName": "Upper"})).json()["id"]
    below = f"/me/mailFolders/{upper}/childFolders"
    lower = (await client.post(below, json={"displayName": "Lower"})).json()["id"]
    move = f"/me/mailFolders/{upper}/move"

    refused = await client.post(move, json={"destinationId": lower})
    moved = await client.post(move, json={"destinationId": "archive"})

    assert code(refused) == (400, "ErrorMoveCopyFailed")
    assert (moved.status_code, moved.json()["id"]) == (201, upper)
