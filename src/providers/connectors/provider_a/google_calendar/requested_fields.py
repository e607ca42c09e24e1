"""Field masks for the wanted attributes of events."""

from collections.abc import Set as AbstractSet
from functools import lru_cache

_MEMBERS = {
    "title": ("summary",),
    "description": ("description",),
    "location": ("location",),
    "status": ("status",),
    "organizer": ("organizer(email)",),
    "attendees": ("attendees(email,displayName,responseStatus,resource)",),
    "join_url": ("hangoutLink", "conferenceData(entryPoints(entryPointType,uri))"),
    "is_recurring_event": ("recurringEventId", "recurrence"),
    "series": ("recurringEventId", "recurrence"),
}
_TIMES = "(date,dateTime)"
_ALWAYS = ("id", f"start{_TIMES}", f"end{_TIMES}", f"originalStartTime{_TIMES}")

Params = tuple[tuple[str, str], ...]

CALENDARS: Params = (
    ("fields", "items(id,summary,summaryOverride,primary,timeZone),nextPageToken"),
    ("maxResults", "250"),
    ("minAccessRole", "reader"),
    ("showHidden", "true"),  # hidden from the list of the user's client, and readable all the same
)


@lru_cache(maxsize=512)
def event(projection: AbstractSet[str]) -> Params:
    """Return the parameters of ``events.get``."""
    return (("fields", _mask(projection)), ("timeZone", "UTC"))


@lru_cache(maxsize=512)
def events(projection: AbstractSet[str]) -> Params:
    """Return the parameters of ``events.list``."""
    return (("fields", f"items({_mask(projection)}),nextPageToken"), ("timeZone", "UTC"))


def busy(*, own_responses: bool) -> Params:
    """Return the parameters for busy times; with *own_responses* also the owner's responses."""
    members = ",".join((*_ALWAYS, "transparency"))
    if not own_responses:
        return (("fields", f"items({members}),nextPageToken"), ("timeZone", "UTC"))
    # With at most one attendee, Google returns the owner.
    mask = f"items({members},attendees(responseStatus,self)),nextPageToken"
    return (("fields", mask), ("maxAttendees", "1"), ("timeZone", "UTC"))


def _mask(projection: AbstractSet[str]) -> str:
    members = [
        name for attribute, names in _MEMBERS.items() if attribute in projection for name in names
    ]
    return ",".join(dict.fromkeys((*_ALWAYS, *members)))
