"""
Whether an event passes a query: what no calendar upstream can be asked for, or only nearly.

Source: decisions 6.2, 6.4 and 16 (Calendar).
"""

from collections.abc import Iterable, Iterator

from providers.mail.query_matching import fold
from providers.ports.calendar import EventQuery
from providers.records.calendar import Event


def needed_attributes(query: EventQuery) -> frozenset[str]:
    """Name the attributes of an event that `passes` looks at, beside its times."""
    names = set(query.text_fields) if query.text else set[str]()
    if query.addresses or query.contact_email or query.contact_name:
        names.add("attendees")
    if query.organizer_counts and (query.addresses or query.contact_email):
        names.add("organizer")
    return frozenset(names)


def matching_events(events: Iterable[Event], query: EventQuery) -> list[Event]:
    """
    Return what the query asks for; calendars and cancelled ones are settled before.

    Args:
        events: With their times and what is `needed_attributes`.
        query: What is asked for.
    """
    meets = query.span.meets
    found = [
        one for one in events if one.start_utc and one.end_utc and meets(one.start_utc, one.end_utc)
    ]
    if not (query.text or query.addresses or query.contact_email or query.contact_name):
        return found
    return [one for one in found if _passes(one, query)]


def _passes(event: Event, query: EventQuery) -> bool:
    return (
        (not query.text or _says(event, query))
        and (not query.addresses or _involves(event, query))
        and (not (query.contact_email or query.contact_name) or _meets(event, query))
    )


def _says(event: Event, query: EventQuery) -> bool:
    wanted = fold(query.text or "")
    return any(wanted in fold(getattr(event, name) or "") for name in query.text_fields)


def _involves(event: Event, query: EventQuery) -> bool:
    wanted = {fold(address) for address in query.addresses}
    return not wanted.isdisjoint(fold(address) for address in _addresses(event, query))


def _addresses(event: Event, query: EventQuery) -> Iterator[str]:
    yield from (one.email for one in event.attendees or ())
    if query.organizer_counts and event.organizer:
        yield event.organizer


def _meets(event: Event, query: EventQuery) -> bool:
    """Whether one attendee has both; the organiser, who has no name here, an address alone."""
    email, name = fold(query.contact_email or ""), fold(query.contact_name or "")
    for one in event.attendees or ():
        if email in fold(one.email) and (not name or name in fold(one.name or "")):
            return True
    counts = query.organizer_counts and not name
    return counts and event.organizer is not None and email in fold(event.organizer)
