"""Root queries about list items: `collabListItems`, `collabListItem`."""

from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Annotated

import msgspec
import strawberry

from graph import page_tokens
from graph.collab import ids
from graph.collab.failures import translate_failures
from graph.collab.file_queries import told
from graph.collab.labels import add_row_labels
from graph.collab.paging import applied_limit, clean_text, fill_page
from graph.collab.site_queries import PageToken, SiteId
from graph.collab.types import CollabListItem, CollabListItemPage
from graph.collab.views import RowPageView
from graph.collab.visibility import column_masks
from graph.collab.visibility.access import AccessChecker
from graph.collab.visibility.lookup_columns import find_hidden_columns
from graph.collab.visibility.parent_visibility import list_name, site_name
from graph.context import Context, Info
from graph.execution.requested_fields import wanted
from graph.masking.guards import guarded
from policy.refusals import InvalidInput
from policy.vocabulary import Code, CollabField, CollabOp, Surface
from providers.ports.collab import Page, RowQuery
from providers.records.collab import Row

MAX_LIMIT = 200  # contract, Limits
MAX_FILTER = 2000  # characters; decisions 8.10
MAX_ORDER = 1000  # characters of at most three columns
MAX_SELECTED = 400  # columns

Argument = strawberry.argument
ListId = Annotated[str, Argument(description="The list's id.")]
ItemId = Annotated[str, Argument(description="The list item's id.")]
# What connectors do not fill in of a row: it is looked up here.
_LOOKED_UP = frozenset({"labels", "site_name", "list_name"})


@guarded(CollabOp.READ_LIST_ITEM, returns=CollabListItemPage, max_limit=MAX_LIMIT)
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
) -> RowPageView:
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
    cursor = None
    if page_token:
        cursor = page_tokens.unseal(context, "collabListItems", binding, page_token, str)
    context.caller.usable_connections(Surface.COLLAB)
    column_masks.require_unmasked(context.caller, query.filter, query.order_by)
    access = AccessChecker(context.content, context.caller.rules)
    of = await translate_failures(access.read_list(key, inside=True))
    column_masks.require_unmasked(context.caller, query.filter, query.order_by, columns=of.columns)
    fields = wanted(info.raw, "CollabListItem")
    asked_for = asks(fields) | access.fact_loader.row_attributes
    query = replace(
        query, hidden=await translate_failures(find_hidden_columns(context, access, key, fields))
    )

    async def turn(at: str | None) -> Page[Row]:
        # Where rules leave a page short, as much as may be is looked at to fill it.
        wide = query if at == cursor else replace(query, limit=MAX_LIMIT)
        return await context.content.rows(key, wide, cursor=at, wanted=asked_for)

    page = await translate_failures(
        fill_page(turn, access.check_rows, limit=query.limit, cursor=cursor)
    )
    named = of.display_name if access.visible_lists([of]) else None
    rows = await translate_failures(completed(context, access, page.items, fields, list_name=named))
    token = None
    if page.next is not None:
        token = page_tokens.seal(context, "collabListItems", binding, page.next)
    return RowPageView(
        items=rows,
        next_page_token=token,
        has_more=token is not None,
        access_info=context.caller.access_info(Surface.COLLAB),
        auth_warnings=told(context, (), page.warnings),
    )


@guarded(CollabOp.READ_LIST_ITEM, returns=CollabListItem)
async def collab_list_item(info: Info, site_id: SiteId, list_id: ListId, item_id: ItemId) -> Row:
    """Read one item of a list."""
    context = info.context
    key = ids.parse_row(site_id, list_id, item_id)
    context.caller.usable_connections(Surface.COLLAB)
    access = AccessChecker(context.content, context.caller.rules)
    fields = wanted(info.raw, "CollabListItem")
    if "fields" in fields and not access.unrestricted:
        await translate_failures(
            access.read_row(key)
        )  # what is not needed for the decision comes after it
    hidden = await translate_failures(find_hidden_columns(context, access, key.of, fields))
    found = (
        await translate_failures(
            access.read_row(key, wanted=asks(fields) | {"etag"}, hidden=hidden)
        )
    ).row
    context.etag = found.etag
    name = await list_name(context, access, key.of) if "list_name" in fields else None
    (row,) = await translate_failures(completed(context, access, (found,), fields, list_name=name))
    return row


async def completed(
    context: Context,
    access: AccessChecker,
    rows: tuple[Row, ...],
    fields: AbstractSet[str],
    *,
    list_name: str | None,
) -> tuple[Row, ...]:
    """Put on *rows* what is looked up, and take off what tells a hidden name."""
    if "labels" in fields:
        rows = await add_row_labels(context, access.fact_loader, rows)
    of = None
    if rows and "site_name" in fields:
        of = await site_name(context, access, rows[0].site)
    hidden = column_masks.masked_columns(context.caller)
    return tuple(
        msgspec.structs.replace(
            one,
            site_name=of,
            list_name=list_name,
            fields=column_masks.blank(one.fields, hidden) if one.fields and hidden else one.fields,
        )
        for one in rows
    )


def asks(fields: AbstractSet[str]) -> frozenset[str]:
    """Return what is asked of the connector to show *fields*."""
    return frozenset(fields - _LOOKED_UP) | ({"file"} if "labels" in fields else frozenset())


def _query(
    filter_: str | None,
    order_by: str | None,
    select_fields: str | None,
    context: Context,
    *,
    limit: int | None,
) -> RowQuery:
    selected = [one.strip() for one in (select_fields or "").split(",")]
    named = tuple(dict.fromkeys(one for one in selected if one))
    if len(named) > MAX_SELECTED:
        raise InvalidInput("selectFields names too many columns.", code=Code.INVALID_FILTER)
    if context.caller.hides(CollabField.FIELD_VALUES):
        named = ()  # accepted, and without effect (decisions 8.2)
    return RowQuery(
        filter=clean_text(filter_, "filter", most=MAX_FILTER),
        order_by=clean_text(order_by, "orderBy", most=MAX_ORDER),
        select=named or None,
        limit=applied_limit(limit, context, default=50, most=MAX_LIMIT),
    )
