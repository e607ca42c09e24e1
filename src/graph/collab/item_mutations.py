"""Root mutations of list items: create, update, delete."""

from typing import Annotated

import strawberry

from graph.collab import ids, previews
from graph.collab.changes import ETAG, apply_change
from graph.collab.failures import translate_failures
from graph.collab.inputs import CreateListItemInput, UpdateListItemInput, validate_fields
from graph.collab.item_queries import ItemId, ListId, complete_list_items, connector_attributes
from graph.collab.list_item_columns import (
    require_deletion,
    require_list_item_renaming,
    require_new_name,
    require_open_columns,
    with_content_type,
)
from graph.collab.site_queries import SiteId
from graph.collab.site_types import CollabListItemDeletion
from graph.collab.visibility.access import NOTHING, AccessChecker
from graph.collab.visibility.auto_rules import LIST_ITEM, create_with_rule
from graph.collab.visibility.folder_checks import (
    LIST_ITEM_ATTRIBUTES,
    require_list_item_contents_allowed,
)
from graph.collab.visibility.lookup_columns import find_hidden_columns
from graph.collab.visibility.parent_visibility import list_name
from graph.context import Info
from graph.execution.if_match import IfMatch, parse_if_match
from graph.execution.requested_fields import projection
from graph.masking.guards import guarded
from policy.refusals import Detail, InvalidInput
from policy.rule_facts import Facts
from policy.vocabulary import Code, CollabOp
from providers.content.fingerprints import list_item_fingerprint
from providers.failures import ProviderFailure
from providers.records.collab import ListItem

FILE = frozenset({"file"})  # of a list item: the file behind it

Argument = strawberry.argument


@guarded(CollabOp.WRITE_LIST_ITEM)
@translate_failures
async def create_list_item(
    info: Info,
    site_id: SiteId,
    list_id: ListId,
    written: Annotated[CreateListItemInput, Argument(name="input", description="The item.")],
) -> ListItem:
    """Add an item to a list; without `read_list_item` only its id comes back."""
    context = info.context
    key, fields = ids.parse_list(site_id, list_id), validate_fields(written.fields)
    require_open_columns(fields)
    access = AccessChecker.open_for_write(context, CollabOp.WRITE_LIST_ITEM)
    site_list = await access.read_list(key, inside=True)
    access = access.on(site_list.connection_id)
    child = with_content_type(Facts(site_id=site_list.site, list_id=site_list.list), fields)
    access.require_creation(access.fact_loader.list_facts(site_list), child)
    if site_list.drive is not None:
        why = "The items of a library are created by uploading files."
        raise InvalidInput(why, code=Code.INVALID_FIELDS, details=[Detail("fields", why)])
    context.refuse_uncertain_retry()
    attributes = _visible_fields(info, access) | access.fact_loader.list_item_attributes
    hidden = await find_hidden_columns(access, key, attributes)
    attributes = connector_attributes(attributes)
    previews.describe_new_list_item(key, fields)
    list_item = await create_with_rule(
        context,
        access.content,
        LIST_ITEM,
        list_item_fingerprint(key, fields),
        lambda: apply_change(
            access.content.create_list_item(key, fields, projection=attributes, hidden=hidden)
        ),
    )
    name = site_list.display_name if access.visible_lists([site_list]) else None
    # In block-all mode the rule that was just stored allows the item.
    if context.caller.rules.allow_by_default and not await _is_visible(access, list_item):
        return _only_id(list_item)
    return await _complete_list_item(info, access, list_item, list_name=name)


@guarded(CollabOp.WRITE_LIST_ITEM)
@translate_failures
async def update_list_item(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    site_id: SiteId,
    list_id: ListId,
    item_id: ItemId,
    written: Annotated[UpdateListItemInput, Argument(name="input", description="What changes.")],
    *,
    if_match: IfMatch = None,
) -> ListItem:
    """Change some columns of a list item; without `read_list_item` only its id comes back."""
    context = info.context
    key, fields = ids.parse_list_item(site_id, list_id, item_id), validate_fields(written.fields)
    etag = parse_if_match(if_match)
    require_open_columns(fields)
    new_name = require_new_name(context.caller, fields)
    writable = AccessChecker.open_for_write(
        context, CollabOp.WRITE_LIST_ITEM, check=lambda each: require_new_name(each, fields)
    )
    access = await writable.holding(key)
    target = await access.read_list_item(key, projection=FILE if new_name is not None else NOTHING)
    if new_name is not None:
        require_list_item_renaming(access, target, new_name)
    access.require_not_blocked(with_content_type(target.facts, fields))
    attributes = connector_attributes(
        _visible_fields(info, access) | access.fact_loader.list_item_attributes | ETAG
    )
    hidden = await find_hidden_columns(access, key.of, attributes)
    await previews.describe_list_item_change(access, key, fields, etag)
    list_item = await apply_change(
        access.content.update_list_item(
            key, fields, etag=etag, projection=attributes, hidden=hidden
        )
    )
    context.etag = list_item.etag
    if not await _is_visible(access, list_item):
        return _only_id(list_item)
    name = (
        await list_name(access, key.of) if "list_name" in _requested_fields(info, access) else None
    )
    return await _complete_list_item(info, access, list_item, list_name=name)


@guarded(CollabOp.DELETE_LIST_ITEM)
@translate_failures
async def delete_list_item(
    info: Info, site_id: SiteId, list_id: ListId, item_id: ItemId, *, if_match: IfMatch = None
) -> CollabListItemDeletion:
    """Move a list item to the recycle bin."""
    context = info.context
    key, tag = ids.parse_list_item(site_id, list_id, item_id), parse_if_match(if_match)
    writable = AccessChecker.open_for_write(context, CollabOp.DELETE_LIST_ITEM)
    access = await writable.holding(key)
    target = await access.read_list_item(key, projection=ETAG | LIST_ITEM_ATTRIBUTES)
    require_deletion(access.caller, target)
    if not access.unrestricted:
        await require_list_item_contents_allowed(access, target.list_item, target.facts)
    etag = tag or target.list_item.etag
    previews.describe_list_item_deletion(key, target.list_item.etag, etag)
    await apply_change(access.content.delete_list_item(key, etag=etag))
    return CollabListItemDeletion()


def _requested_fields(info: Info, access: AccessChecker) -> frozenset[str]:
    """Return the attributes of a list item that were selected and are not masked."""
    return access.visible("CollabListItem", projection(info.raw, "CollabListItem"))


def _visible_fields(info: Info, access: AccessChecker) -> frozenset[str]:
    """Return the attributes to read of the item: none without the flag to read items."""
    if not access.caller.allows(CollabOp.READ_LIST_ITEM):
        return frozenset()
    return _requested_fields(info, access)


async def _complete_list_item(
    info: Info, access: AccessChecker, list_item: ListItem, *, list_name: str | None
) -> ListItem:
    if not access.caller.allows(CollabOp.READ_LIST_ITEM):
        return _only_id(list_item)
    info.context.etag = list_item.etag
    fields = _requested_fields(info, access)
    (list_item,) = await complete_list_items(access, (list_item,), fields, list_name=list_name)
    return list_item


async def _is_visible(access: AccessChecker, list_item: ListItem) -> bool:
    """Return whether the rules allow a written list item; False when its facts cannot be read."""
    try:
        (allowed,) = await access.check_list_items([list_item])
    except ProviderFailure:
        return False
    return allowed


def _only_id(list_item: ListItem) -> ListItem:
    """Remove everything but the id of a list item."""
    return ListItem(site=list_item.site, list=list_item.list, number=list_item.number)
