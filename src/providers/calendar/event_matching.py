"""
The meaning of every event filter; no upstream applies them exactly.

The rules: docs/spec/calendar.md#keyword, #attendees-filter and #events-by-contact.
"""

from collections.abc import Iterable, Iterator

from providers.ports.calendar import EventQuery
from providers.records.calendar import Event
from providers.search_text import fold
from providers.turns import filtered


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
    in_range = _in_range(events, query)
    return list(filter(_Matcher(query), in_range)) if restricts(query) else in_range


async def matching_in_turns(events: Iterable[Event], query: EventQuery) -> list[Event]:
    """Return the same, and let other requests go on while many events are compared."""
    in_range = _in_range(events, query)
    return await filtered(in_range, _Matcher(query)) if restricts(query) else in_range


def restricts(query: EventQuery) -> bool:
    """Return whether any event in the range may fail to match."""
    return bool(query.text or query.addresses or query.contact_email or query.contact_name)


def _in_range(events: Iterable[Event], query: EventQuery) -> list[Event]:
    first, end = query.span
    return [
        event
        for event in events
        # `Span.meets`, without a call for each event.
        if (starts := event.start_utc)
        and (ends := event.end_utc)
        and starts < end
        and (ends > first or starts >= first)
    ]


class _Matcher:
    """Tells whether events match the filters of a query, which are folded once."""

    def __init__(self, query: EventQuery) -> None:
        self._fields = query.text_fields
        self._organizer_counts = query.organizer_counts
        self._text = fold(query.text or "")
        self._addresses = frozenset(map(fold, query.addresses))
        self._email, self._name = fold(query.contact_email or ""), fold(query.contact_name or "")

    def __call__(self, event: Event) -> bool:
        return (
            (not self._text or self._has_text(event))
            and (not self._addresses or self._has_address(event))
            and (not (self._email or self._name) or self._has_contact(event))
        )

    def _has_text(self, event: Event) -> bool:
        return any(self._text in fold(getattr(event, name) or "") for name in self._fields)

    def _has_address(self, event: Event) -> bool:
        return not self._addresses.isdisjoint(map(fold, self._people(event)))

    def _people(self, event: Event) -> Iterator[str]:
        yield from (attendee.email for attendee in event.attendees or ())
        if self._organizer_counts and event.organizer:
            yield event.organizer

    def _has_contact(self, event: Event) -> bool:
        """Return whether an attendee has both; the organizer has no name, so an address counts."""
        email, name = self._email, self._name
        for attendee in event.attendees or ():
            if email in fold(attendee.email) and (not name or name in fold(attendee.name or "")):
                return True
        counts = self._organizer_counts and not name
        return counts and event.organizer is not None and email in fold(event.organizer)
