"""Root queries about list items: the items of a list, and one item."""

from collections.abc import Set as AbstractSet
from typing import Annotated

import msgspec
import strawberry
from msgspec.structs import replace

from graph import page_tokens
from graph.collab import ids
from graph.collab.failures import auth_warnings, translate_failures
from graph.collab.labels import add_list_item_labels
from graph.collab.paging import clean_text, fill_page
from graph.collab.site_queries import PageToken, SiteId
from graph.collab.site_types import CollabListItemPage
from graph.collab.visibility import column_masks
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.lookup_columns import find_hidden_columns, require_visible_paths
from graph.collab.visibility.parent_visibility import list_name, site_name
from graph.context import Context, Info
from graph.execution.requested_fields import projection
from graph.masking.guards import guarded
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, Surface
from providers.ports.collab import ListItemQuery, Page
from providers.records.collab import ListItem

# docs/spec/collab.md#list-items
MAX_LIMIT = 200
MAX_SELECTED = 400  # columns

Argument = strawberry.argument
ListId = Annotated[str, Argument(description="The list's id.")]
ItemId = Annotated[str, Argument(description="The list item's id.")]
# Attributes of a list item that connectors do not fill in.
_SEPARATE_CALLS = frozenset({"labels", "site_name", "list_name"})


@guarded(
    CollabOp.READ_LIST_ITEM,
    max_limit=MAX_LIMIT,
    revealing={"filter": (CollabField.FIELD_VALUES,), "orderBy": (CollabField.FIELD_VALUES,)},
)
@translate_failures
async def collab_list_items(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    site_id: SiteId,
    list_id: ListId,
    *,
    filter: Annotated[  # noqa: A002 - the documented name
        str | None,
        Argument(
            description=(
                "Comparisons of columns (`eq ne gt ge lt le`, `startswith contains endswith`) "
                "with `and`, `or`, `not` and brackets."
            )
        ),
    ] = None,
    order_by: Annotated[
        str | None,
        Argument(description="`Column [asc|desc]`, comma-separated, at most three; by id."),
    ] = None,
    select_fields: Annotated[
        str | None, Argument(description="Comma-separated API names of columns; all if absent.")
    ] = None,
    limit: Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")] = 50,
    page_token: PageToken = None,
) -> CollabListItemPage:
    """List the items of a list."""
    context = info.context
    key = ids.parse_list(site_id, list_id)
    query = _query(filter, order_by, select_fields, context, limit=limit)
    binding: dict[str, object] = {
        "list": key,
        "filter": query.filter,
        "orderBy": query.order_by,
        "select": query.select,
    }
    cursor = page_tokens.unseal(context, "collabListItems", binding, page_token, str)
    access = AccessChecker.open(
        context,
        CollabOp.READ_LIST_ITEM,
        check=lambda each: column_masks.require_unmasked(each, query.filter, query.order_by),
    )
    site_list = await access.read_list(key, inside=True)
    access = access.on(site_list.connection_id)
    column_masks.require_unmasked(
        access.caller, query.filter, query.order_by, columns=site_list.columns
    )
    await require_visible_paths(access, site_list, query.filter, query.order_by)
    fields = access.visible("CollabListItem", projection(info.raw, "CollabListItem"))
    attributes = connector_attributes(fields) | access.fact_loader.list_item_attributes
    hidden = await find_hidden_columns(access, key, fields)
    shows_values = not access.caller.hides(CollabField.FIELD_VALUES)
    # A selection is without effect on hidden values: docs/spec/masks.md#collab-filters
    query = replace(query, hidden=hidden, select=query.select if shows_values else None)

    async def read_page(position: str | None) -> Page[ListItem]:
        # Where rules leave a page short, the following pages are as large as possible.
        sized = query if position == cursor else replace(query, limit=MAX_LIMIT)
        return await access.content.list_items(key, sized, cursor=position, projection=attributes)

    page = await fill_page(read_page, access.check_list_items, limit=query.limit, cursor=cursor)
    name = site_list.display_name if access.visible_lists([site_list]) else None
    list_items = await complete_list_items(access, page.items, fields, list_name=name)
    token = page_tokens.seal(context, "collabListItems", binding, page.next)
    return CollabListItemPage(
        items=list_items,
        next_page_token=token,
        has_more=token is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=auth_warnings(context, (), page.warnings),
    )


@guarded(CollabOp.READ_LIST_ITEM)
@translate_failures
async def collab_list_item(
    info: Info, site_id: SiteId, list_id: ListId, item_id: ItemId
) -> ListItem:
    """Read one item of a list."""
    context = info.context
    key = ids.parse_list_item(site_id, list_id, item_id)
    access = await AccessChecker.open(context, CollabOp.READ_LIST_ITEM).holding(key)
    fields = access.visible("CollabListItem", projection(info.raw, "CollabListItem"))
    if "fields" in fields and not access.unrestricted:
        await access.read_list_item(
            key
        )  # the decision comes before the calls that only the answer needs
    hidden = await find_hidden_columns(access, key.of, fields)
    attributes = connector_attributes(fields) | {"etag"}
    list_item = (await access.read_list_item(key, projection=attributes, hidden=hidden)).list_item
    context.etag = list_item.etag
    name = await list_name(access, key.of) if "list_name" in fields else None
    (list_item,) = await complete_list_items(access, (list_item,), fields, list_name=name)
    return list_item


async def complete_list_items(
    access: AccessChecker,
    list_items: tuple[ListItem, ...],
    fields: AbstractSet[str],
    *,
    list_name: str | None,
) -> tuple[ListItem, ...]:
    """Add the attributes that connectors do not fill in, and blank what is masked."""
    if "labels" in fields:
        list_items = await add_list_item_labels(access, list_items)
    site = None
    if list_items and "site_name" in fields:
        site = await site_name(access, list_items[0].site)
    masked = column_masks.masked_columns(access.caller)
    completed = [
        msgspec.structs.replace(
            list_item,
            site_name=site,
            list_name=list_name,
            fields=column_masks.blank(list_item.fields, masked)
            if list_item.fields and masked
            else list_item.fields,
        )
        for list_item in list_items
    ]
    return access.shown("CollabListItem", completed)


def connector_attributes(fields: AbstractSet[str]) -> frozenset[str]:
    """Return the attributes that the connector must read so that *fields* can be shown."""
    return frozenset(fields - _SEPARATE_CALLS) | ({"file"} if "labels" in fields else frozenset())


def _query(
    filter_: str | None,
    order_by: str | None,
    select_fields: str | None,
    context: Context,
    *,
    limit: int | None,
) -> ListItemQuery:
    names = [name.strip() for name in (select_fields or "").split(",")]
    selected = tuple(dict.fromkeys(name for name in names if name))
    if len(selected) > MAX_SELECTED:
        raise InvalidInput("selectFields names too many columns.", code=Code.INVALID_FILTER)
    return ListItemQuery(
        filter=clean_text(filter_),
        order_by=clean_text(order_by),
        select=selected or None,
        limit=context.clamp_limit(limit, default=50, maximum=MAX_LIMIT),
    )
