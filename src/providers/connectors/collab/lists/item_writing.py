"""Changes of list items; docs/spec/collab.md#list-item-writes."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from providers.collab_ids import ListItemKey, ListKey, is_number
from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext, if_match
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.lists.items import ListItemReader
from providers.connectors.collab.lists.lists import ListReader
from providers.failures import Broken, ProviderFailure, Refused
from providers.http.response import Response
from providers.outcomes import unknown_if_ambiguous
from providers.ports.collab import InvalidFields
from providers.records import collab as records
from providers.records.finite_numbers import has_infinity, is_not_finite

_LOOKUPS = ("lookup", "person")
_LOOKUP_ID = "LookupId"  # ends the names of the numbers of a look-up, which are written
_NUMBERS = ("number", "currency")


class ListItemWriter:
    """Changes list items."""

    def __init__(
        self,
        context: ConnectionContext,
        sites: SiteReader,
        lists: ListReader,
        list_items: ListItemReader,
    ) -> None:
        self._context = context
        self._sites = sites
        self._lists = lists
        self._list_items = list_items

    async def create(
        self,
        key: ListKey,
        fields: Mapping[str, Any],
        *,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.ListItem:
        """
        Add a list item.

        Raises:
            InvalidFields: Columns are unknown, read-only, or required and missing.
        """
        self._sites.admit_site(key.site)
        columns = await self._lists.columns(key)
        check_fields(columns, fields, creating=True)
        body = {
            "fields": _with_types(
                {name: value for name, value in fields.items() if value is not None}
            )
        }
        selection = await self._list_items.field_selection(key, projection, hidden)
        with unknown_if_ambiguous():
            response = await self._call("POST", *_address(key), json=body)
            created = response.decode(response_types.ListItem)
            if not is_number(created.id):
                raise Broken
        list_item = mapping.list_item(created, key, projection, selection=selection)
        return await self._reread(ListItemKey(*key, created.id), list_item, projection, hidden)

    async def update(
        self,
        key: ListItemKey,
        fields: Mapping[str, Any],
        *,
        etag: str | None,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.ListItem:
        """
        Change some columns of a list item.

        Raises:
            InvalidFields: Columns are unknown or read-only, or a required one is cleared.
            Stale: It is no longer at *etag*.
        """
        self._sites.admit_site(key.site)
        check_fields(await self._lists.columns(key.of), fields, creating=False)
        address = (*_address(key.of), "items", key.item, "fields")
        response = await self._call(
            "PATCH", *address, json=_with_types(fields), headers=if_match(etag), item=True
        )
        changed = response_types.ListItem(id=key.item, fields=response.decode(dict[str, Any]))
        selection = await self._list_items.field_selection(key.of, projection, hidden)
        return await self._reread(
            key,
            mapping.list_item(changed, key.of, projection, selection=selection),
            projection,
            hidden,
        )

    async def delete(self, key: ListItemKey, *, etag: str | None) -> None:
        """Delete a list item; Stale when it is no longer at *etag*."""
        self._sites.admit_site(key.site)
        address = (*_address(key.of), "items", key.item)
        await self._call("DELETE", *address, headers=if_match(etag), item=True)

    async def _reread(
        self,
        key: ListItemKey,
        written: records.ListItem,
        projection: AbstractSet[str],
        hidden: AbstractSet[str] = frozenset(),
    ) -> records.ListItem:
        """Read a written list item whole; return what the write returned when that fails."""
        try:
            return await self._list_items.get(key, projection=projection, hidden=hidden)
        except ProviderFailure:
            return written

    async def _call(
        self,
        method: str,
        *segments: str,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        item: bool = False,
    ) -> Response:
        """
        Make a change without retries; the caller interprets an unreadable response.

        Raises:
            InvalidFields: Upstream does not take the values.
            OutcomeUnknown: The response was lost.
        """
        address = segments if item else (*segments, "items")
        try:
            with self._context.translate_refused_writes(), unknown_if_ambiguous():
                return await self._context.upstream.call(
                    method, V1, *address, json=json, headers=headers or {}
                )
        except Refused as refusal:
            if type(refusal) is Refused and refusal.status == 400 and json is not None:
                raise InvalidFields([("", "The provider does not accept a value.")]) from None
            raise


def check_fields(
    columns: tuple[records.Column, ...], fields: Mapping[str, Any], *, creating: bool
) -> None:
    """
    Check values against the columns of a list.

    Raises:
        InvalidFields: Columns are unknown or read-only, or a required one has no value.
    """
    by_key = {column.name: column for column in columns}
    by_key |= {
        f"{column.name}LookupId": column for column in columns if column.column_type in _LOOKUPS
    }
    details = []
    for name, written in fields.items():
        written_column = by_key.get(name)
        if written_column is None:
            details.append((name, "The list has no such column."))
        elif written_column.read_only or written_column.column_type == "calculated":
            details.append((name, "The column is read-only."))
        elif has_infinity(written) or (
            written_column.column_type in _NUMBERS and is_not_finite(written)
        ):
            details.append((name, "The value is not a finite number."))
    for column in columns:
        is_required = column.required and not column.read_only and not column.hidden
        if not is_required or (creating and column.has_default):
            continue
        keys = (column.name, f"{column.name}LookupId")
        values = [fields[key] for key in keys if key in fields]
        if (creating and not values) or any(value in (None, "", []) for value in values):
            details.append((column.name, "The column is required."))
    if details:
        raise InvalidFields(details)


def _with_types(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add the OData type of every list of values, which upstream requires."""
    typed: dict[str, Any] = {}
    for name, value in fields.items():
        written = value
        if isinstance(value, list):
            are_ids = name.endswith(_LOOKUP_ID) and all(is_number(str(item)) for item in value)
            written = [int(item) for item in value] if are_ids else value
            are_numbers = are_ids or (bool(value) and all(isinstance(item, int) for item in value))
            typed[f"{name}@odata.type"] = f"Collection(Edm.{'Int32' if are_numbers else 'String'})"
        typed[name] = written
    return typed


def _address(key: ListKey) -> tuple[str, ...]:
    return ("sites", key.site, "lists", key.list)
