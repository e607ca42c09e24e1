"""From occurrences to records: docs/spec/upstream/caldav.md#event-fields."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from providers.columnar import Column, RecordBuilder, attribute, computed
from providers.connectors.caldav.occurrences import Occurrence
from providers.connectors.caldav.people import Person
from providers.ports.calendar import ROOMS
from providers.records.calendar import Attendee, Event

_WITH_ROOMS = frozenset({ROOMS})


def events(occurrences: Sequence[Occurrence], projection: AbstractSet[str]) -> list[Event]:
    """
    Make records of occurrences, in their order.

    Attributes that are not wanted stay None, except the id and the times. Without `ROOMS` in
    *projection*, meeting rooms are left out.
    """
    builder = _FULL if projection >= _WITH_ROOMS else _WITHOUT_ROOMS
    return builder.records(occurrences, projection)


def is_busy(occurrence: Occurrence, owner: AbstractSet[str]) -> bool:
    """Whether an event takes time; *owner*: addresses whose refusal counts, in small letters."""
    content = occurrence.content
    if content.is_free or content.status == "cancelled":
        return False
    return not any(
        person.response == "declined" and person.email.casefold() in owner
        for person in content.attendees
    )


def _attendees(people: Iterable[Person]) -> tuple[Attendee, ...]:
    return tuple([Attendee(person.email, person.name, person.response) for person in people])


def _people(people: Iterable[Person]) -> tuple[Attendee, ...]:
    return _attendees(person for person in people if not person.is_room)


def _once_per_content(convert: Callable[[Iterable[Person]], tuple[Attendee, ...]]) -> Column:
    """Return the column of attendees: a thousand guests of a series are converted once."""

    def column(occurrences: Sequence[Occurrence]) -> Iterator[tuple[Attendee, ...]]:
        converted: dict[int, tuple[Attendee, ...]] = {}  # by the identity of the content
        for occurrence in occurrences:
            key = id(occurrence.content)
            if key not in converted:
                converted[key] = convert(occurrence.content.attendees)
            yield converted[key]

    return column


def _organizer_that_is_no_room(occurrence: Occurrence) -> str | None:
    content = occurrence.content
    if content.organizer is None:
        return None
    rooms = {person.email.casefold() for person in content.attendees if person.is_room}
    is_room = content.organizer.is_room or content.organizer.email.casefold() in rooms
    return None if is_room else content.organizer.email


_COLUMNS = {
    "id": attribute("id"),
    "title": attribute("content.title"),
    "description": attribute("content.description"),
    "location": attribute("content.location"),
    "start_utc": attribute("span.start"),
    "end_utc": attribute("span.end"),
    "all_day": attribute("content.start.is_day"),
    "status": attribute("content.status"),
    "join_url": attribute("content.join_url"),
    "labels": attribute("content.labels"),
    "is_recurring_event": computed(lambda occurrence: occurrence.series is not None),
    "series": attribute("series"),
}
_ALWAYS = frozenset({"id", "start_utc", "end_utc"})
_FULL = RecordBuilder(
    Event,
    {
        **_COLUMNS,
        "organizer": attribute(
            "content.organizer", lambda person: person.email if person else None
        ),
        "attendees": _once_per_content(_attendees),
    },
    always=_ALWAYS,
)
_WITHOUT_ROOMS = RecordBuilder(
    Event,
    {
        **_COLUMNS,
        "organizer": computed(_organizer_that_is_no_room),
        "attendees": _once_per_content(_people),
    },
    always=_ALWAYS,
)
