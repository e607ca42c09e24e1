"""Root mutations of list items: make, change, delete."""

from typing import Annotated

import strawberry

from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.file_mutations import IfMatch, changed, etag, writing
from graph.collab.inputs import CreateListItemInput, UpdateListItemInput, validate_fields
from graph.collab.item_queries import ItemId, ListId, asks, completed
from graph.collab.site_queries import SiteId
from graph.collab.types import CollabListItem, CollabListItemDeletion
from graph.collab.views import DeletionView
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.auto_rules import ROWS, create_with_rule
from graph.collab.visibility.folder_checks import ROW_ATTRIBUTES, require_row_contents_allowed
from graph.collab.visibility.lookup_columns import find_hidden_columns
from graph.collab.visibility.parent_visibility import list_name
from graph.context import Context, Info
from graph.execution.requested_fields import wanted
from graph.masking.guards import guarded
from policy.refusals import Detail, InvalidInput
from policy.rules import Facts
from policy.vocabulary import Code, CollabOp
from providers.content.fingerprints import row_fingerprint
from providers.failures import ProviderFailure
from providers.records.collab import Row, SiteList

Argument = strawberry.argument
_ETAG = frozenset({"etag"})


@guarded(CollabOp.WRITE_LIST_ITEM, returns=CollabListItem)
async def create_list_item(
    info: Info,
    site_id: SiteId,
    list_id: ListId,
    written: Annotated[CreateListItemInput, Argument(name="input", description="The item.")],
) -> Row:
    """Add an item to a list; without `read_list_item` only its id comes back."""
    context = info.context
    key, fields = ids.parse_list(site_id, list_id), validate_fields(written.fields)
    access = writing(context)
    of = await translate_failures(access.read_list(key, inside=True))
    access.require_creation(access.fact_loader.list_facts(of), _child(of))
    if isinstance(of.drive, str):
        why = "The items of a library are made by uploading files."
        raise InvalidInput(why, code=Code.INVALID_FIELDS, details=[Detail("fields", why)])
    context.refuse_uncertain_retry()
    wants = _shown(info, context) | access.fact_loader.row_attributes
    hidden = await translate_failures(find_hidden_columns(context, access, key, wants))
    made = await create_with_rule(
        context,
        ROWS,
        row_fingerprint(key, fields),
        lambda: changed(context.content.create_row(key, fields, wanted=asks(wants), hidden=hidden)),
    )
    named = of.display_name if access.visible_lists([of]) else None
    if not context.caller.rules.allow_by_default:
        return await _answered(info, access, made, list_name_=named)
    (seen,) = await _seen(access, made)
    if not seen:
        return _bare(made)
    return await _answered(info, access, made, list_name_=named)


@guarded(CollabOp.WRITE_LIST_ITEM, returns=CollabListItem)
async def update_list_item(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    site_id: SiteId,
    list_id: ListId,
    item_id: ItemId,
    written: Annotated[UpdateListItemInput, Argument(name="input", description="What changes.")],
    *,
    if_match: IfMatch = None,
) -> Row:
    """Change some columns of a list item; without `read_list_item` only its id comes back."""
    context = info.context
    key, fields = ids.parse_row(site_id, list_id, item_id), validate_fields(written.fields)
    access = writing(context)
    await translate_failures(access.read_row(key))
    wants = asks(_shown(info, context) | access.fact_loader.row_attributes | _ETAG)
    hidden = await translate_failures(find_hidden_columns(context, access, key.of, wants))
    changing = context.content.update_row(
        key, fields, etag=etag(if_match), wanted=wants, hidden=hidden
    )
    made = await changed(changing)
    context.etag = made.etag
    (seen,) = await _seen(access, made)
    if not seen:
        return _bare(made)
    name = await list_name(context, access, key.of) if "list_name" in wanted_of(info) else None
    return await _answered(info, access, made, list_name_=name)


@guarded(CollabOp.DELETE_LIST_ITEM, returns=CollabListItemDeletion)
async def delete_list_item(
    info: Info, site_id: SiteId, list_id: ListId, item_id: ItemId, *, if_match: IfMatch = None
) -> DeletionView:
    """Put a list item into the recycle bin."""
    context = info.context
    key = ids.parse_row(site_id, list_id, item_id)
    access = writing(context)
    wants = _ETAG if access.unrestricted else _ETAG | ROW_ATTRIBUTES
    found = await translate_failures(access.read_row(key, wanted=wants))
    if not access.unrestricted:
        await translate_failures(
            require_row_contents_allowed(context, access, found.row, found.facts)
        )
    tag = etag(if_match) or found.row.etag
    await changed(context.content.delete_row(key, etag=tag))
    return DeletionView()


def wanted_of(info: Info) -> frozenset[str]:
    """Return the attributes of a list item that were selected and may be seen."""
    return wanted(info.raw, "CollabListItem")


def _shown(info: Info, context: Context) -> frozenset[str]:
    """Return what is to be read of the item: nothing for whoever may not read items."""
    if not context.caller.allows(CollabOp.READ_LIST_ITEM):
        return frozenset()
    return wanted_of(info)


async def _answered(info: Info, access: AccessChecker, made: Row, *, list_name_: str | None) -> Row:
    context = info.context
    if not context.caller.allows(CollabOp.READ_LIST_ITEM):
        return _bare(made)
    context.etag = made.etag
    fields = wanted_of(info)
    (row,) = await completed(context, access, (made,), fields, list_name=list_name_)
    return row


async def _seen(access: AccessChecker, made: Row) -> list[bool]:
    """Say whether what was made may be seen; it stays made when that cannot be told."""
    try:
        return await access.check_rows([made])
    except ProviderFailure:
        return [False]


def _bare(made: Row) -> Row:
    """Leave nothing of a list item but its id."""
    return Row(site=made.site, list=made.list, number=made.number)


def _child(of: SiteList) -> Facts:
    """Return what is known of something new in a list: its place."""
    return Facts(site_id=of.site, list_id=of.list)
