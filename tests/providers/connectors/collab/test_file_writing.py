"""Changing files of one connection, against the sandbox's wire."""

import msgspec
import pytest
from collab_upstream import BOB, FILE, key

from providers.content.ids import ItemKey
from providers.failures import (
    Conflicted,
    Locked,
    Missing,
    OutcomeUnknown,
    Refused,
    Stale,
)
from providers.ports.collab import InvalidDestination, Share

ETAG = frozenset({"etag"})


@pytest.fixture
def port(tenant):
    return tenant.delegated().port


def now(tenant, item):
    return tenant.shelf.item(item.drive_id, item.id)


async def test_a_folder_is_made(tenant, port):
    folder = await port.file_writes.create_folder(
        key(tenant.boats), "Sails & masts #1", description="All"
    )

    assert (folder.name, folder.is_folder, folder.parent) == (
        "Sails & masts #1",
        True,
        key(tenant.boats),
    )
    made = tenant.shelf.item(folder.drive, folder.item)
    assert (made.parent_id, made.is_folder, made.description) == (tenant.boats.id, True, "All")


async def test_a_folder_is_made_at_the_top(tenant, port):
    folder = await port.file_writes.create_folder(
        ItemKey(tenant.documents.drive_id, "root"), "Sails", description=None
    )

    assert folder.parent == key(tenant.documents)


async def test_a_second_folder_of_a_name_is_not_made(tenant, port):
    with pytest.raises(Conflicted):
        await port.file_writes.create_folder(key(tenant.documents), "boats", description=None)

    assert len(tenant.shelf.children(tenant.documents)) == 2


async def test_a_file_gets_a_new_name(tenant, port):
    file = await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert (file.key, file.name) == (key(tenant.text), "words.txt")
    assert now(tenant, tenant.text).name == "words.txt"


async def test_a_file_does_not_get_the_name_of_another(tenant, port):
    with pytest.raises(Conflicted):
        await port.file_writes.rename(key(tenant.text), "Boats", etag=None)

    assert now(tenant, tenant.text).name == "notes.txt"


@pytest.mark.parametrize("change", ["rename", "move", "delete"])
async def test_a_file_that_changed_meanwhile_is_left_alone(tenant, port, change):
    etag = (await port.files.get(key(tenant.text), wanted=ETAG)).etag
    tenant.shelf.put(msgspec.structs.replace(tenant.text, version=9))

    ways = {
        "rename": lambda: port.file_writes.rename(key(tenant.text), "words.txt", etag=etag),
        "move": lambda: port.file_writes.move(key(tenant.text), key(tenant.boats), etag=etag),
        "delete": lambda: port.file_writes.delete(key(tenant.text), etag=etag),
    }
    with pytest.raises(Stale):
        await ways[change]()

    item = now(tenant, tenant.text)
    assert (item.name, item.parent_id, item.gone) == ("notes.txt", tenant.documents.id, "")


async def test_a_file_is_moved(tenant, port):
    etag = (await port.files.get(key(tenant.text), wanted=ETAG)).etag

    file = await port.file_writes.move(key(tenant.text), key(tenant.inner), etag=etag)

    assert (file.key, file.parent) == (key(tenant.text), key(tenant.inner))
    assert now(tenant, tenant.text).parent_id == tenant.inner.id


async def test_a_file_is_moved_to_the_top(tenant, port):
    file = await port.file_writes.move(
        key(tenant.plan), ItemKey(tenant.plan.drive_id, "root"), etag=None
    )

    assert file.parent == key(tenant.documents)


@pytest.mark.parametrize("target", ["drawings", "text", "inner"])
async def test_a_folder_is_not_moved_where_it_cannot_be(tenant, port, target):
    with pytest.raises(InvalidDestination):
        await port.file_writes.move(key(tenant.boats), key(getattr(tenant, target)), etag=None)

    assert now(tenant, tenant.boats).parent_id == tenant.documents.id


async def test_what_is_deleted_can_be_had_back(tenant, port):
    await port.file_writes.delete(key(tenant.boats), etag=None)

    gone = {one.name for one in tenant.shelf.recycled(tenant.boats.drive_id)}
    assert gone == {"Boats", tenant.inner.name, "Plan é.docx"}
    with pytest.raises(Missing):
        await port.file_writes.delete(key(tenant.boats), etag=None)


async def test_a_locked_file_is_left_alone(tenant, port):
    tenant.shelf.put(msgspec.structs.replace(tenant.text, is_locked=True))

    with pytest.raises(Locked):
        await port.file_writes.delete(key(tenant.text), etag=None)


async def test_a_person_is_let_in(tenant, port):
    share = Share(type="user", role="writer", email=BOB, notify=False, message="Look")

    permission = await port.file_writes.share(key(tenant.text), share)

    (given,) = tenant.shelf.shares(tenant.text)
    assert (given.id, given.role, given.to) == (permission, "write", (BOB,))


@pytest.mark.parametrize(
    ("kind", "role", "link"),
    [("anyone", "reader", ("anonymous", "view")), ("domain", "writer", ("organization", "edit"))],
)
async def test_everybody_is_let_in_by_a_link(tenant, port, kind, role, link):
    permission = await port.file_writes.share(key(tenant.text), Share(type=kind, role=role))

    (given,) = tenant.shelf.shares(tenant.text)
    assert (given.id, (given.scope, given.view)) == (permission, link)


async def test_nobody_is_let_in_to_comment_alone(tenant, port):
    with pytest.raises(Refused) as raised:
        await port.file_writes.share(
            key(tenant.text), Share(type="user", role="commenter", email=BOB)
        )

    assert raised.value.word == "notSupported"
    assert tenant.shelf.shares(tenant.text) == []


async def test_a_policy_against_sharing_is_told(tenant, port):
    tenant.shelf.put(msgspec.structs.replace(tenant.yard, sharing=""))

    with pytest.raises(Refused) as raised:
        await port.file_writes.share(key(tenant.text), Share(type="anyone", role="reader"))

    assert (raised.value.status, raised.value.word) == (403, "notAllowed")


async def test_a_permission_is_changed_and_taken_away(tenant, port):
    permission = await port.file_writes.share(
        key(tenant.text), Share(type="user", role="reader", email=BOB)
    )

    await port.file_writes.update_permission(key(tenant.text), permission, "writer")
    assert [one.role for one in tenant.shelf.shares(tenant.text)] == ["write"]

    await port.file_writes.delete_permission(key(tenant.text), permission)
    assert tenant.shelf.shares(tenant.text) == []
    with pytest.raises(Missing):
        await port.file_writes.delete_permission(key(tenant.text), permission)


async def test_a_change_whose_answer_was_lost_is_of_unknown_outcome(tenant, port):
    tenant.fault(kind="lostAnswer", method="PATCH", count=1)

    with pytest.raises(OutcomeUnknown):
        await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert now(tenant, tenant.text).name == "words.txt"
    assert sum(call["method"] == "PATCH" for call in tenant.calls) == 1


async def test_a_read_only_connection_changes_nothing(tenant):
    port = tenant.delegated(scopes=("Files.Read.All", "Sites.Read.All")).port

    with pytest.raises(Refused):
        await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert now(tenant, tenant.text).name == "notes.txt"


async def test_what_is_moved_keeps_its_id_and_its_other_face(tenant, port):
    before = await port.files.get(key(tenant.text), wanted=FILE)

    await port.file_writes.move(key(tenant.text), key(tenant.inner), etag=before.etag)

    after = await port.files.get(key(tenant.text), wanted=FILE)
    assert (after.key, after.list_item_id) == (before.key, before.list_item_id)
    assert after.parent_folder_name == tenant.inner.name
