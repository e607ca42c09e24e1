"""Filters and orders of `collabFiles`, and the mask words that they would reveal."""

import re
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import get_args

import msgspec
from msgspec.structs import replace

from graph.collab.visibility.access import AccessChecker
from policy.caller import Caller
from policy.refusals import InvalidInput
from policy.vocabulary import CollabField
from policy.wildcards import Wildcard
from providers import web_addresses
from providers.collab_ids import ItemKey
from providers.ports.collab import FileQuery, Order, OrderBy

# Key of an order -> the mask word that it would reveal.
ORDERS: Mapping[OrderBy, CollabField] = MappingProxyType(
    {
        "name": CollabField.NAME,
        "modified_time": CollabField.MODIFIED_TIME,
        "created_time": CollabField.CREATED_TIME,
        "size": CollabField.SIZE,
    }
)
# Argument of a filter -> the mask words that it would reveal.
REVEALING: Mapping[str, tuple[CollabField, ...]] = MappingProxyType(
    {
        "q": (CollabField.NAME,),
        "mimeType": (CollabField.MIME_TYPE,),
        "name": (CollabField.NAME,),
        "owner": (CollabField.OWNERS,),
        "sharedWith": (CollabField.SHARED_WITH,),
        "webUrls": (CollabField.NAME, CollabField.WEB_VIEW_LINK),
        "modifiedAfter": (CollabField.MODIFIED_TIME,),
        "modifiedBefore": (CollabField.MODIFIED_TIME,),
    }
)
# Upstream's search drops a value without words, and with it the filter; `*` and `"` have a meaning.
_ADDRESS = re.compile(r"""[^\s@"*]+@\w[^\s@"*]*""")
_DOMAIN = re.compile(r"""@\w[^\s@"*]*""")
# Fields that upstream's search reads besides names and content.
_METADATA = (CollabField.DESCRIPTION, CollabField.OWNERS, CollabField.FIELD_VALUES)


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """The caller's filters; an empty text is not a filter."""

    q: str | None
    folder: ItemKey | None
    site: str | None
    mime_type: str | None
    name: str | None
    owner: str | None
    shared_with: str | None
    web_urls: str | None
    after: datetime | None
    before: datetime | None
    order: Order | None

    @property
    def by_index(self) -> bool:
        """Whether upstream's search index alone knows the files."""
        by_person = self.owner is not None or self.shared_with is not None
        return by_person or self.web_urls is not None

    def check_people(self) -> None:
        """
        Check the filters by people.

        Raises:
            InvalidInput: A value is not a whole address; `sharedWith` may be a domain too.
        """
        if self.owner is not None and not _ADDRESS.fullmatch(self.owner):
            raise InvalidInput("owner must be a complete address.")
        shared_with = self.shared_with or ""
        if shared_with and not (_ADDRESS.fullmatch(shared_with) or _DOMAIN.fullmatch(shared_with)):
            raise InvalidInput("sharedWith must be a complete address, or @ and a domain.")

    @property
    def web_addresses(self) -> tuple[str, ...]:
        """
        The files' decoded addresses, without repetitions.

        Raises:
            InvalidInput: There are no addresses, too many, or one is not the address of a file.
        """
        if self.web_urls is None:
            return ()
        files = [web_addresses.file_at(url) for url in self.web_urls.split()]
        known = tuple(dict.fromkeys(url for url in files if url is not None))
        if None in files or not 0 < len(known) <= web_addresses.MAX_ADDRESSES:
            raise InvalidInput(
                f"webUrls must be 1 to {web_addresses.MAX_ADDRESSES} addresses of files."
            )
        return known

    def binding(self) -> dict[str, object]:
        """Return the values that a page token is bound to."""
        return {
            "q": self.q,
            "folder": self.folder,
            "site": self.site,
            "mimeType": self.mime_type,
            "name": self.name,
            "owner": self.owner,
            "sharedWith": self.shared_with,
            "webUrls": self.web_urls,
            "after": self.after and self.after.isoformat(),
            "before": self.before and self.before.isoformat(),
            "order": self.order and [self.order.by, self.order.descending],
        }

    def require_unmasked_filters(self, caller: Caller) -> None:
        """Raise FieldNotVisible if a filter or the order reveals a masked field."""
        values = {
            "q": self.q,
            "mimeType": self.mime_type,
            "name": self.name,
            "owner": self.owner,
            "sharedWith": self.shared_with,
            "webUrls": self.web_urls,
            "modifiedAfter": self.after,
            "modifiedBefore": self.before,
        }
        for argument, words in REVEALING.items():
            if values[argument]:
                caller.require_visible(f"The filter '{argument}'", *words)
        if self.order is not None:
            caller.require_visible(f"Ordering by '{self.order.by}'", ORDERS[self.order.by])

    def query(self, caller: Caller, *, limit: int, count_folder_sizes: bool) -> FileQuery:
        """Build the query; the default order is newest first, or the next best visible one."""
        order = self.order or _default_order(caller)
        return FileQuery(
            text=self.q,
            names_only=bool(self.q) and caller.strict and any(map(caller.hides, _METADATA)),
            mime_type=Wildcard(self.mime_type.lower()) if self.mime_type else None,
            name=self.name,
            owner=self.owner,
            shared_with=self.shared_with,
            web_addresses=self.web_addresses,
            modified_after=self.after,
            modified_before=self.before,
            order=replace(order, count_folder_sizes=count_folder_sizes),
            limit=limit,
        )


def parse_order(order_by: str | None) -> Order | None:
    """Parse an order, descending by default for times and sizes; InvalidInput if malformed."""
    words = (order_by or "").split()
    if not words:
        return None
    directions = {"asc": False, "desc": True}
    by = next((key for key in get_args(OrderBy) if key == words[0] and key in ORDERS), None)
    if by is None or len(words) > 2 or (len(words) == 2 and words[1].lower() not in directions):
        names = ", ".join(ORDERS)
        raise InvalidInput(f"orderBy must be one of {names}, then asc or desc.")
    descending = directions[words[1].lower()] if len(words) == 2 else by != "name"
    return Order(by=by, descending=descending)


def require_indexed(access: AccessChecker, order: Order, *, by_index: bool) -> None:
    """
    Check that the search index can list the files of all libraries.

    Raises:
        InvalidInput: The caller must name a place.
    """
    by_time = order.by in {"modified_time", "created_time"}
    if by_index:
        if by_time and access.content.has_index:
            return
        raise InvalidInput(
            "owner, sharedWith and webUrls need an order by time, and one account whose provider "
            "has a search index."
        )
    if by_time and access.content.has_index and access.allows_by_default:
        return
    raise InvalidInput(
        "There are too many libraries to list together in this order or under these rules: "
        "name a siteId or a folderId."
    )


def _default_order(caller: Caller) -> Order:
    """Return newest first, or the next best order that does not reveal a hidden field."""
    for order in (Order(by="modified_time"), Order(by="name", descending=False)):
        if not (caller.strict and caller.hides(ORDERS[order.by])):
            return order
    return Order(by="id", descending=False)
