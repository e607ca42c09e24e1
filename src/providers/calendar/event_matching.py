"""
The meaning of every event filter; no upstream applies them exactly.

The rules: docs/spec/calendar.md#keyword, #attendees-filter and #events-by-contact.
"""

from collections.abc import Iterable, Iterator

from providers.ports.calendar import EventQuery
from providers.records.calendar import Event
from providers.search_text import fold


def needed_attributes(query: EventQuery) -> frozenset[str]:
    """Return the attributes of an event that `matching_events` reads, besides its times."""
    names = set(query.text_fields) if query.text else set[str]()
    if query.addresses or query.contact_email or query.contact_name:
        names.add("attendees")
    if query.organizer_counts and (query.addresses or query.contact_email):
        names.add("organizer")
    return frozenset(names)


def matching_events(events: Iterable[Event], query: EventQuery) -> list[Event]:
    """
    Return the events that match a query; its calendars and cancelled events are not checked.

    Args:
        events: With their times and the `needed_attributes`.
        query: The query.
    """
    first, end = query.span
    in_range = [
        event
        for event in events
        # `Span.meets`, without a call for each event.
        if (starts := event.start_utc)
        and (ends := event.end_utc)
        and starts < end
        and (ends > first or starts >= first)
    ]
    if not (query.text or query.addresses or query.contact_email or query.contact_name):
        return in_range
    return [event for event in in_range if _matches(event, query)]


def _matches(event: Event, query: EventQuery) -> bool:
    return (
        (not query.text or _has_text(event, query))
        and (not query.addresses or _has_address(event, query))
        and (not (query.contact_email or query.contact_name) or _has_contact(event, query))
    )


def _has_text(event: Event, query: EventQuery) -> bool:
    wanted = fold(query.text or "")
    return any(wanted in fold(getattr(event, name) or "") for name in query.text_fields)


def _has_address(event: Event, query: EventQuery) -> bool:
    wanted = {fold(address) for address in query.addresses}
    return not wanted.isdisjoint(fold(address) for address in _addresses(event, query))


def _addresses(event: Event, query: EventQuery) -> Iterator[str]:
    yield from (attendee.email for attendee in event.attendees or ())
    if query.organizer_counts and event.organizer:
        yield event.organizer


def _has_contact(event: Event, query: EventQuery) -> bool:
    """Return whether an attendee has both; the organizer has no name, so only an address counts."""
    email, name = fold(query.contact_email or ""), fold(query.contact_name or "")
    for attendee in event.attendees or ():
        if email in fold(attendee.email) and (not name or name in fold(attendee.name or "")):
            return True
    counts = query.organizer_counts and not name
    return counts and event.organizer is not None and email in fold(event.organizer)
