"""Lists of a site and their columns; docs/spec/upstream/microsoft-files.md#lists."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from providers import collab_ids
from providers.collab_ids import ListKey
from providers.connectors.collab import batch, connection_context, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.failures import Missing, Refused
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Fact, Unknown
from providers.timestamps import parse_utc

MAX_LISTS = 5000
_DRIVE = ("$expand", "drive($select=id)")
_PAGE = ("$top", "200")
_WITH_COLUMNS = (
    (selected_fields.LIST[0], f"{selected_fields.LIST[1]},system"),
    ("$expand", f"columns($select={selected_fields.COLUMN_MEMBERS}),drive($select=id)"),
)
_TEMPLATES = frozenset(
    {
        "documentLibrary",
        "genericList",
        "tasks",
        "events",
        "contacts",
        "announcements",
        "links",
        "issueTracking",
        "survey",
        "discussionBoard",
        "pictureLibrary",
        "webPageLibrary",
    }
)
_TEMPLATE_ALIASES: Mapping[str, str] = MappingProxyType(
    {"mySiteDocumentLibrary": "documentLibrary", "tasksWithTimelineAndHierarchy": "tasks"}
)
_COLUMN_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "boolean": "boolean",
        "calculated": "calculated",
        "choice": "choice",
        "currency": "currency",
        "dateTime": "dateTime",
        "geolocation": "geolocation",
        "hyperlinkOrPicture": "hyperlink",
        "lookup": "lookup",
        "number": "number",
        "personOrGroup": "person",
        "term": "term",
        "text": "text",
        "thumbnail": "thumbnail",
    }
)


class ListReader:
    """Reads lists."""

    def __init__(self, context: connection_context.ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def of_site(self, site_id: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Return a site's lists, unordered, without columns."""
        self._sites.admit_site(site_id)
        select = _WITH_COLUMNS[0] if include_hidden else selected_fields.LIST
        try:
            responses, _ = await self._context.pages.read_all(
                (connection_context.V1, "sites", site_id, "lists"),
                (select, _DRIVE, _PAGE),
                ODataPage[response_types.SiteList],
                limit=MAX_LISTS,
            )
        except Refused as refusal:
            raise connection_context.translate_refused_read(refusal) from refusal
        lists = [to_list(response, site_id) for response in responses]
        visible = [
            site_list
            for site_list in lists
            if site_list and (include_hidden or not site_list.hidden)
        ]
        return tuple({site_list.list: site_list for site_list in visible}.values())

    async def get(self, key: ListKey) -> records.SiteList:
        """
        Read one list with its columns.

        Raises:
            Missing: The site has no such list.
        """
        self._sites.admit_site(key.site)
        response = await self._context.read(
            response_types.SiteList, *_address(key), params=_WITH_COLUMNS
        )
        site_list = to_list(response, key.site)
        if site_list is None or site_list.key != key:
            raise Missing
        self._context.cache.lists.put(key, site_list)
        return site_list

    async def get_many(
        self, keys: Collection[ListKey], *, columns: bool = False
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids, in batches; with *columns* as `get` reads them."""
        params = _WITH_COLUMNS if columns else (selected_fields.LIST, _DRIVE)
        requests = {
            key: BatchRequest(_address(key), params)
            for key in dict.fromkeys(keys)
            if self._sites.sees(key.site)
        }
        lists: dict[ListKey, records.SiteList | Unknown | None] = dict.fromkeys(keys)
        for key, response in (await batch.read_all(self._context.upstream, requests)).items():
            failure = connection_context.batched_read_failure(response)
            if failure is not None:
                lists[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            site_list = to_list(response.decode(response_types.SiteList), key.site)
            if site_list is not None and site_list.key == key:
                lists[key] = site_list
                if columns:
                    self._context.cache.lists.put(key, site_list)
        return lists

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """
        Return the columns of a list, at most one minute old.

        Raises:
            Missing: The site has no such list.
        """
        self._sites.admit_site(key.site)
        site_list = self._context.cache.lists.get(key) or await self.get(key)
        return site_list.columns or ()


def _address(key: ListKey) -> tuple[str, ...]:
    return ("sites", key.site, "lists", key.list)


def to_list(response: response_types.SiteList, site_id: str) -> records.SiteList | None:
    """Map a list; None when its id is malformed, or it is of another site."""
    reference = response.parent_reference
    parent_site_id = reference.site_id if reference is not None else None
    if not collab_ids.is_guid(response.id):
        return None
    if parent_site_id and collab_ids.is_site(parent_site_id) and parent_site_id.lower() != site_id:
        return None
    info = response.list or response_types.ListInfo()
    template = _TEMPLATE_ALIASES.get(info.template or "", info.template or "")
    return records.SiteList(
        site=site_id,
        list=response.id.lower(),
        display_name=response.display_name,
        name=response.name,
        description=response.description or None,
        web_url=response.web_url,
        template=template if template in _TEMPLATES else "other",
        hidden=bool(info.hidden) or response.system is not None,
        created_date_time=parse_utc(response.created_date_time),
        last_modified_date_time=parse_utc(response.last_modified_date_time),
        columns=None if response.columns is None else tuple(map(to_column, response.columns)),
        drive=_drive(response, template),
    )


def to_column(facets: response_types.Facet) -> records.Column:
    """Map a column; its type is the facet that it has."""
    return records.Column(
        name=_text(facets.get("name")),
        display_name=_text(facets.get("displayName")) or None,
        column_type=_type(facets),
        hidden=facets.get("hidden") is True,
        read_only=facets.get("readOnly") is True,
        required=facets.get("required") is True,
        indexed=facets.get("indexed") is True,
        has_default=bool(facets.get("defaultValue")),
        multiple=_facet(facets, "lookup").get("allowMultipleValues") is True
        or _facet(facets, "personOrGroup").get("allowMultipleSelection") is True,
        formula=_text(_facet(facets, "calculated").get("formula")) or None,
        looks_up=_text(_facet(facets, "lookup").get("columnName")) or None,
        source=_source(_facet(facets, "lookup")),
    )


def _source(lookup: Mapping[str, Any]) -> str | None:
    list_id = _text(lookup.get("listId")).strip("{}").lower()
    return list_id if collab_ids.is_guid(list_id) else None


def _facet(facets: response_types.Facet, name: str) -> Mapping[str, Any]:
    facet = facets.get(name)
    return facet if isinstance(facet, dict) else {}


def _type(facets: response_types.Facet) -> str:
    if facets.get("name") == "ContentType":
        return "contentType"
    facet = next((name for name in _COLUMN_TYPES if isinstance(facets.get(name), dict)), "")
    settings = facets.get(facet) or {}
    if facet == "text" and settings.get("allowMultipleLines") is True:
        return "note"
    if facet == "choice" and settings.get("displayAs") == "checkBoxes":
        return "multiChoice"
    return _COLUMN_TYPES.get(facet, "unknown")


def _drive(response: response_types.SiteList, template: str) -> Fact:
    if response.drive is not None and collab_ids.is_part(response.drive.id):
        return response.drive.id
    return UNKNOWN if template.endswith("Library") else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
