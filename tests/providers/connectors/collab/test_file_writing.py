"""Changes of files of one connection, against the sandbox."""

import msgspec
import pytest
from collab_upstream import BOB, FILE, key

from providers.collab_ids import ItemKey
from providers.failures import Conflicted, Locked, Missing, OutcomeUnknown, Refused, Stale
from providers.ports.collab import InvalidDestination, Share

ETAG = frozenset({"etag"})


@pytest.fixture
def port(tenant):
    return tenant.delegated().port


def now(tenant, item):
    return tenant.store.item(item.drive_id, item.id)


async def test_creating_a_folder(tenant, port):
    folder = await port.file_writes.create_folder(
        key(tenant.boats), "Sails & masts #1", description="All"
    )

    assert (folder.name, folder.is_folder, folder.parent) == (
        "Sails & masts #1",
        True,
        key(tenant.boats),
    )
    made = tenant.store.item(folder.drive, folder.item)
    assert (made.parent_id, made.is_folder, made.description) == (tenant.boats.id, True, "All")


async def test_creating_a_folder_at_the_top(tenant, port):
    folder = await port.file_writes.create_folder(
        ItemKey(tenant.documents.drive_id, "root"), "Sails", description=None
    )

    assert folder.parent == key(tenant.documents)


async def test_creating_a_folder_with_a_taken_name_is_a_conflict(tenant, port):
    with pytest.raises(Conflicted):
        await port.file_writes.create_folder(key(tenant.documents), "boats", description=None)

    assert len(tenant.store.children(tenant.documents)) == 2


async def test_renaming_a_file(tenant, port):
    file = await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert (file.key, file.name) == (key(tenant.text), "words.txt")
    assert now(tenant, tenant.text).name == "words.txt"


async def test_renaming_to_a_taken_name_is_a_conflict(tenant, port):
    with pytest.raises(Conflicted):
        await port.file_writes.rename(key(tenant.text), "Boats", etag=None)

    assert now(tenant, tenant.text).name == "notes.txt"


@pytest.mark.parametrize("change", ["rename", "move", "delete"])
async def test_changes_of_a_stale_file_are_refused(tenant, port, change):
    etag = (await port.files.get(key(tenant.text), projection=ETAG)).etag
    tenant.store.put(msgspec.structs.replace(tenant.text, version=9))

    ways = {
        "rename": lambda: port.file_writes.rename(key(tenant.text), "words.txt", etag=etag),
        "move": lambda: port.file_writes.move(key(tenant.text), key(tenant.boats), etag=etag),
        "delete": lambda: port.file_writes.delete(key(tenant.text), etag=etag),
    }
    with pytest.raises(Stale):
        await ways[change]()

    item = now(tenant, tenant.text)
    assert (item.name, item.parent_id, item.gone) == ("notes.txt", tenant.documents.id, "")


async def test_moving_a_file(tenant, port):
    etag = (await port.files.get(key(tenant.text), projection=ETAG)).etag

    file = await port.file_writes.move(key(tenant.text), key(tenant.inner), etag=etag)

    assert (file.key, file.parent) == (key(tenant.text), key(tenant.inner))
    assert now(tenant, tenant.text).parent_id == tenant.inner.id


async def test_moving_a_file_to_the_top(tenant, port):
    file = await port.file_writes.move(
        key(tenant.plan), ItemKey(tenant.plan.drive_id, "root"), etag=None
    )

    assert file.parent == key(tenant.documents)


@pytest.mark.parametrize("target", ["drawings", "text", "inner"])
async def test_invalid_destinations_of_a_move(tenant, port, target):
    with pytest.raises(InvalidDestination):
        await port.file_writes.move(key(tenant.boats), key(getattr(tenant, target)), etag=None)

    assert now(tenant, tenant.boats).parent_id == tenant.documents.id


async def test_deleted_files_go_to_the_recycle_bin(tenant, port):
    await port.file_writes.delete(key(tenant.boats), etag=None)

    gone = {item.name for item in tenant.store.recycled(tenant.boats.drive_id)}
    assert gone == {"Boats", tenant.inner.name, "Plan é.docx"}
    with pytest.raises(Missing):
        await port.file_writes.delete(key(tenant.boats), etag=None)


async def test_locked_files_are_not_changed(tenant, port):
    tenant.store.put(msgspec.structs.replace(tenant.text, is_locked=True))

    with pytest.raises(Locked):
        await port.file_writes.delete(key(tenant.text), etag=None)


async def test_sharing_with_a_person(tenant, port):
    share = Share(type="user", role="writer", email=BOB, notify=False, message="Look")

    permission = await port.file_writes.share(key(tenant.text), share)

    (given,) = tenant.store.shares(tenant.text)
    assert (given.id, given.role, given.to) == (permission, "write", (BOB,))


@pytest.mark.parametrize(
    ("kind", "role", "link"),
    [("anyone", "reader", ("anonymous", "view")), ("domain", "writer", ("organization", "edit"))],
)
async def test_sharing_by_a_link(tenant, port, kind, role, link):
    permission = await port.file_writes.share(key(tenant.text), Share(type=kind, role=role))

    (given,) = tenant.store.shares(tenant.text)
    assert (given.id, (given.scope, given.view)) == (permission, link)


async def test_sharing_that_a_policy_forbids_is_refused(tenant, port):
    tenant.store.put(msgspec.structs.replace(tenant.yard, sharing=""))

    with pytest.raises(Refused) as raised:
        await port.file_writes.share(key(tenant.text), Share(type="anyone", role="reader"))

    assert (raised.value.status, raised.value.word) == (403, "notAllowed")
    assert raised.value.message == "The provider's policy does not allow this."


async def test_changing_and_removing_a_permission(tenant, port):
    permission = await port.file_writes.share(
        key(tenant.text), Share(type="user", role="reader", email=BOB)
    )

    await port.file_writes.update_permission(key(tenant.text), permission, "writer")
    assert [share.role for share in tenant.store.shares(tenant.text)] == ["write"]

    await port.file_writes.delete_permission(key(tenant.text), permission)
    assert tenant.store.shares(tenant.text) == []
    with pytest.raises(Missing):
        await port.file_writes.delete_permission(key(tenant.text), permission)


async def test_a_change_with_a_lost_response_has_an_unknown_outcome(tenant, port):
    tenant.fault(kind="lostAnswer", method="PATCH", count=1)

    with pytest.raises(OutcomeUnknown):
        await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert now(tenant, tenant.text).name == "words.txt"
    assert sum(call["method"] == "PATCH" for call in tenant.calls) == 1


async def test_read_only_connections_change_nothing(tenant):
    port = tenant.delegated(scopes=("Files.Read.All", "Sites.Read.All")).port

    with pytest.raises(Refused):
        await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)

    assert now(tenant, tenant.text).name == "notes.txt"


async def test_a_moved_file_keeps_its_id_and_its_list_item(tenant, port):
    before = await port.files.get(key(tenant.text), projection=FILE)

    await port.file_writes.move(key(tenant.text), key(tenant.inner), etag=before.etag)

    after = await port.files.get(key(tenant.text), projection=FILE)
    assert (after.key, after.list_item_id) == (before.key, before.list_item_id)
    assert after.parent_folder_name == tenant.inner.name
