"""`$select` for the wanted attributes of events."""

from collections.abc import Set as AbstractSet
from functools import lru_cache

_MEMBERS = {
    "title": ("subject",),
    "description": ("body",),
    "location": ("location",),
    "all_day": ("isAllDay",),
    "status": ("showAs",),
    "organizer": ("organizer",),
    "attendees": ("attendees",),
    "join_url": ("onlineMeeting", "onlineMeetingUrl"),
    "labels": ("categories",),
    "is_recurring_event": ("type",),
    "series": ("type", "seriesMasterId"),
}
_ALWAYS = ("id", "start", "end")

Params = tuple[tuple[str, str], ...]

CALENDAR: Params = (("$select", "id,name,isDefaultCalendar"),)
CALENDARS: Params = (*CALENDAR, ("$top", "100"))


@lru_cache(maxsize=512)
def event(projection: AbstractSet[str], *, of_list: bool = False) -> Params:
    """
    Return the options that select the wanted attributes of events.

    With *of_list*, cancelled events can be recognized and left out.
    """
    return (("$select", ",".join(_selected(projection, of_list=of_list))),)


def members_of_list(projection: AbstractSet[str]) -> frozenset[str]:
    """Return the members that `event` selects of the events of a list."""
    return frozenset(_selected(projection, of_list=True))


def _selected(projection: AbstractSet[str], *, of_list: bool) -> list[str]:
    cancelled = ("isCancelled",) if of_list or "status" in projection else ()
    names = [
        name for attribute, names in _MEMBERS.items() if attribute in projection for name in names
    ]
    return list(dict.fromkeys((*_ALWAYS, *cancelled, *names)))


def busy(*, own_responses: bool) -> Params:
    """Return the options for busy times; with *own_responses* also the owner's responses."""
    own = ("responseStatus",) if own_responses else ()
    return (("$select", ",".join(("start", "end", "showAs", "isCancelled", *own))),)
