"""App-only connections see selected sites only."""

import pytest
from collab_upstream import FILE, ROW, key, list_key

from providers.collab_ids import ItemKey, ListItemKey
from providers.failures import Broken, Missing
from providers.ports.collab import ListItemQuery, Upload
from providers.records.collab import UNKNOWN
from sandbox.collab import records as r

NAME = frozenset({"name"})


async def test_only_selected_sites_are_visible(tenant):
    port = tenant.selected(tenant.yard, tenant.board).port

    assert {site.display_name for site in await port.sites.visible()} == {"Yard", "Board"}
    with pytest.raises(Missing):
        await port.sites.get(tenant.root.id)


async def test_a_site_with_a_revoked_grant_disappears(tenant):
    port = tenant.selected(tenant.yard, tenant.board).port
    tenant.store.delete(tenant.store.get(r.SiteGrant, f"{tenant.board.id} app"))

    assert {site.display_name for site in await port.sites.visible()} == {"Yard"}
    with pytest.raises(Missing):
        await port.files.get(key(tenant.secret), projection=NAME)


async def test_granted_sites_that_are_not_selected_are_missing(tenant):
    """The selection decides, even when the credentials could read more."""
    tenant.selected(tenant.board)
    port = tenant.selected(tenant.yard).port
    one = tenant.make.list_in(tenant.board, "Board list", (), [{"Title": "x"}])
    tenant.make.save()
    tenant.forget_calls()
    secret, root = key(tenant.secret), ItemKey(tenant.minutes.drive_id, "root")
    row = ListItemKey(*list_key(one), "1")

    async def nothing():
        yield b"x"

    calls = [
        port.sites.get(tenant.board.id),
        port.files.get(secret, projection=NAME),
        port.files.children(root, cursor=None, top=9, projection=NAME),
        port.files.search(root, "keel", cursor=None, top=9, projection=NAME),
        port.files.link(secret, projection=NAME),
        port.files.permissions(secret),
        port.uploads.upload(root, Upload(name="a", chunks=nothing(), size=1)),
        port.file_writes.create_folder(root, "a", description=None),
        port.file_writes.rename(secret, "a", etag=None),
        port.file_writes.delete(secret, etag=None),
        port.lists.of_site(tenant.board.id, include_hidden=False),
        port.lists.get(list_key(one)),
        port.list_items.page(list_key(one), ListItemQuery(), cursor=None, projection=ROW),
        port.list_items.get(row, projection=ROW),
        port.list_item_writes.create(list_key(one), {"Title": "x"}, projection=ROW),
        port.list_item_writes.delete(row, etag=None),
    ]
    for call in calls:
        with pytest.raises(Missing):
            await call
    assert await port.files.get_many([secret], projection=NAME) == {secret: None}
    assert await port.list_items.get_many([row], projection=ROW) == {row: None}
    assert await port.sites.drives([tenant.board.id]) == {tenant.board.id: None}
    assert await port.sites.get_drives([tenant.minutes.drive_id]) == {tenant.minutes.drive_id: None}
    assert await port.labels.of_files([secret]) == {secret: UNKNOWN}

    beyond = [path for path in tenant.paths if "$batch" not in path and tenant.board.id in path]
    assert beyond == []
    assert not [path for path in tenant.paths if tenant.secret.id in path]


async def test_libraries_with_an_unreadable_site_are_not_missing(tenant):
    port = tenant.selected(tenant.yard).port
    tenant.fault(kind="500", match=f"drives/{tenant.plan.drive_id}")

    with pytest.raises(Broken):
        await port.files.get(key(tenant.plan), projection=NAME)
    with pytest.raises(Broken):
        await port.files.get_many([key(tenant.plan)], projection=NAME)


async def test_selected_site_ids_match_in_any_case(tenant):
    access = tenant.selected(tenant.yard)
    spelt = f"collab:site:{tenant.yard.id.upper()}"
    again = type(access.info)(
        **{
            name: getattr(access.info, name)
            for name in access.info.__struct_fields__
            if name != "selected_site_ids"
        },
        selected_site_ids=(spelt,),
    )
    from providers import registry

    port = registry.PortRegistry(lambda _: access.upstream).open(again)

    assert [site.site for site in await port.sites.visible()] == [tenant.yard.id]


async def test_the_default_library_is_that_of_the_first_site(tenant):
    port = tenant.selected(tenant.yard).port

    assert (await port.sites.default_drive()).name == "Documents"


async def test_the_site_of_a_library_is_read_once(tenant):
    port = tenant.selected(tenant.yard).port

    await port.files.get(key(tenant.plan), projection=FILE)
    asked = len(tenant.calls)
    await port.files.get(key(tenant.plan), projection=FILE)

    assert len(tenant.calls) == asked + 1


async def test_reading_and_writing_in_selected_sites(tenant):
    port = tenant.selected(tenant.yard).port

    file = await port.files.get(key(tenant.plan), projection=FILE)
    renamed = await port.file_writes.rename(key(tenant.text), "words.txt", etag=None)
    row = await port.list_item_writes.create(
        list_key(tenant.berths), {"Title": "New"}, projection=ROW
    )

    assert (file.name, renamed.name, row.name) == ("Plan é.docx", "words.txt", "New")


async def test_a_probe_fails_when_the_connection_does(tenant):
    await tenant.selected(tenant.yard).port.probe()
    await tenant.delegated().port.probe()
