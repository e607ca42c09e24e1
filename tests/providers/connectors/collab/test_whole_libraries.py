"""Whole libraries by the provider's delta, and the question whether one has changed."""

import msgspec
import pytest

from providers.connectors.collab.files import reading
from providers.failures import TooMuch

NAME = frozenset({"name", "web_view_link"})


async def library(port, tenant):
    return await port.files.library(tenant.documents.drive_id, projection=NAME)


def change(tenant, item, **members):
    stored = tenant.store.item(item.drive_id, item.id)
    tenant.store.put(msgspec.structs.replace(stored, version=stored.version + 1, **members))


@pytest.mark.parametrize("page", [1, 2, 999])
async def test_a_library_has_every_file_at_any_depth_once(tenant, monkeypatch, page):
    monkeypatch.setattr(reading, "_DELTA_PAGE", page)
    port = tenant.delegated().port

    files, link = await library(port, tenant)

    items = tenant.store.items(tenant.documents.drive_id)
    assert sorted(file.item for file in files) == sorted(item.id for item in items)
    assert [file.item for file in files if file.is_root] == [tenant.documents.id]
    parents = {file.item: file.parent and file.parent.item for file in files}
    assert parents == {item.id: item.parent_id or None for item in items}
    assert link.partition("?")[0].endswith("/root/delta")
    assert "select" not in link


async def test_a_library_is_unchanged_until_something_in_it_changes(tenant):
    port, drive = tenant.delegated().port, tenant.documents.drive_id
    _, link = await library(port, tenant)
    before = len(tenant.calls)

    assert await port.files.is_unchanged(drive, link) is True
    assert await port.files.is_unchanged(drive, link) is True
    assert len(tenant.calls) == before + 2

    item = next(each for each in tenant.store.items(drive) if each.parent_id)
    change(tenant, item, description="New")
    assert await port.files.is_unchanged(drive, link) is False
    _, link = await library(port, tenant)
    assert await port.files.is_unchanged(drive, link) is True
    tenant.store.delete(tenant.store.item(drive, item.id))
    assert await port.files.is_unchanged(drive, link) is False


async def test_a_token_that_the_provider_forgot_is_a_change(tenant):
    port = tenant.delegated().port
    _, link = await library(port, tenant)
    tenant.store.deltas.clear()

    assert await port.files.is_unchanged(tenant.documents.drive_id, link) is False


async def test_a_library_that_is_too_large_is_not_read(tenant, monkeypatch):
    monkeypatch.setattr(reading, "MAX_LIBRARY", 1)

    with pytest.raises(TooMuch):
        await library(tenant.delegated().port, tenant)
