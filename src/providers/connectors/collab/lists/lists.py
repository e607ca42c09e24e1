"""Lists of a site and their columns. Source: wire report 1D.5; decisions 8.9 and 8.13."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from providers.connectors.collab import batch, response_types, selected_fields
from providers.connectors.collab.batch import BatchRequest
from providers.connectors.collab.connection_context import (
    V1,
    ConnectionContext,
    batched_read_failure,
    translate_refused_read,
)
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.content import ids as collab_ids
from providers.content.ids import ListKey
from providers.failures import Missing, Refused
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Fact, Unknown
from providers.timestamps import parse_utc

MOST_LISTS = 5000
_DRIVE = ("$expand", "drive($select=id)")
_PAGE = ("$top", "200")
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
_RENAMED: Mapping[str, str] = MappingProxyType(
    {"mySiteDocumentLibrary": "documentLibrary", "tasksWithTimelineAndHierarchy": "tasks"}
)
_FACETS: Mapping[str, str] = MappingProxyType(
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

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def of_site(self, site: str, *, include_hidden: bool) -> tuple[records.SiteList, ...]:
        """Return a site's lists; see `ListPort.of_site`."""
        self._sites.admit_site(site)
        name, members = selected_fields.LIST
        select = (name, f"{members},system") if include_hidden else selected_fields.LIST
        try:
            found, _ = await self._context.pages.read_all(
                (V1, "sites", site, "lists"),
                (select, _DRIVE, _PAGE),
                ODataPage[response_types.SiteList],
                limit=MOST_LISTS,
            )
        except Refused as refusal:
            raise translate_refused_read(refusal) from refusal
        lists = [one for each in found if (one := site_list(each, site)) is not None]
        shown = [one for one in lists if include_hidden or not one.hidden]
        return tuple({one.list: one for one in shown}.values())

    async def get(self, key: ListKey) -> records.SiteList:
        """Read one list with its columns; see `ListPort.get`."""
        self._sites.admit_site(key.site)
        expand = ("$expand", f"columns($select={selected_fields.COLUMN_MEMBERS}),drive($select=id)")
        name, members = selected_fields.LIST
        select = (name, f"{members},system")
        one = await self._context.read(
            response_types.SiteList, "sites", key.site, "lists", key.list, params=(select, expand)
        )
        found = site_list(one, key.site)
        if found is None or found.key != key:
            raise Missing
        self._context.cache.lists.put(key, found)
        return found

    async def get_many(
        self, keys: Collection[ListKey]
    ) -> Mapping[ListKey, records.SiteList | Unknown | None]:
        """Read lists by their ids; see `ListPort.get_many`."""
        found: dict[ListKey, records.SiteList | Unknown | None] = dict.fromkeys(keys)
        asks = {
            key: BatchRequest(
                ("sites", key.site, "lists", key.list), (selected_fields.LIST, _DRIVE)
            )
            for key in found
            if self._sites.sees(key.site)
        }
        for key, answer in (await batch.read_all(self._context.upstream, asks)).items():
            failure = batched_read_failure(answer)
            if failure is not None:
                found[key] = None if isinstance(failure, Missing) else UNKNOWN
                continue
            one = site_list(answer.decode(response_types.SiteList), key.site)
            found[key] = one if one is not None and one.key == key else None
        return found

    async def columns(self, key: ListKey) -> tuple[records.Column, ...]:
        """Return the columns of a list; see `ListPort.columns`."""
        self._sites.admit_site(key.site)
        known = self._context.cache.lists.get(key)
        found = known if known is not None else await self.get(key)
        return found.columns or ()


def site_list(one: response_types.SiteList, site: str) -> records.SiteList | None:
    """Make a record of a list; None when upstream gives it no proper id, or another site's."""
    reference = one.parent_reference
    told = reference.site_id if reference is not None else None
    if not collab_ids.is_guid(one.id):
        return None
    if told and collab_ids.is_site(told) and told.lower() != site:
        return None
    info = one.list or response_types.ListInfo()
    template = _RENAMED.get(info.template or "", info.template or "")
    return records.SiteList(
        site=site,
        list=one.id.lower(),
        display_name=one.display_name,
        name=one.name,
        description=one.description or None,
        web_url=one.web_url,
        template=template if template in _TEMPLATES else "other",
        hidden=bool(info.hidden) or one.system is not None,
        created_date_time=parse_utc(one.created_date_time),
        last_modified_date_time=parse_utc(one.last_modified_date_time),
        columns=None if one.columns is None else tuple(map(column, one.columns)),
        drive=_drive(one, template),
    )


def column(one: response_types.Facet) -> records.Column:
    """Make a record of a column: its type is the facet that it has."""
    return records.Column(
        name=_text(one.get("name")),
        display_name=_text(one.get("displayName")) or None,
        column_type=_type(one),
        hidden=one.get("hidden") is True,
        read_only=one.get("readOnly") is True,
        required=one.get("required") is True,
        indexed=one.get("indexed") is True,
        has_default=bool(one.get("defaultValue")),
        multiple=_facet(one, "lookup").get("allowMultipleValues") is True
        or _facet(one, "personOrGroup").get("allowMultipleSelection") is True,
        formula=_text(_facet(one, "calculated").get("formula")) or None,
        looks_up=_text(_facet(one, "lookup").get("columnName")) or None,
        source=_source(_facet(one, "lookup")),
    )


def _source(lookup: Mapping[str, Any]) -> str | None:
    told = _text(lookup.get("listId")).strip("{}").lower()
    return told if collab_ids.is_guid(told) else None


def _facet(one: response_types.Facet, name: str) -> Mapping[str, Any]:
    found = one.get(name)
    return found if isinstance(found, dict) else {}


def _type(one: response_types.Facet) -> str:
    if one.get("name") == "ContentType":
        return "contentType"
    facet = next((name for name in _FACETS if isinstance(one.get(name), dict)), "")
    more = one.get(facet) or {}
    if facet == "text" and more.get("allowMultipleLines") is True:
        return "note"
    if facet == "choice" and more.get("displayAs") == "checkBoxes":
        return "multiChoice"
    return _FACETS.get(facet, "unknown")


def _drive(one: response_types.SiteList, template: str) -> Fact:
    if one.drive is not None and collab_ids.is_part(one.drive.id):
        return one.drive.id
    library = template.endswith("Library")
    return UNKNOWN if library else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
