"""Checks the arguments of the calendar fields: texts, ids and time ranges."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from msgspec import structs

from graph.context import Info
from graph.execution.requested_fields import projection
from graph.masking import masks
from policy import timeframe
from policy.caller import Caller
from policy.refusals import FieldNotVisible, InvalidInput
from policy.timeframe import TimeRange
from policy.vocabulary import CalendarField, Code
from providers.ports.calendar import ROOMS, CalendarView, Span
from providers.records.calendar import Event

MAX_LIMIT = 1000  # docs/spec/paging.md#keys
MAX_ADDRESSES = 50  # docs/spec/calendar.md#attendees-filter
MIN_CONTACT = 2  # characters; docs/spec/calendar.md#events-by-contact
MAX_FREE_BUSY = timedelta(days=366)  # docs/spec/calendar.md#free-busy
MAX_CALENDARS = 1000  # ids per request, as many as a token may be restricted to
# A longer range is cut to these bounds: recurring events have no end, and upstream would expand
# them all. `meta` shows the range that was read (docs/spec/calendar.md#range-length).
LONGEST_RANGE = timedelta(days=3653)
FAR_BACK, FAR_AHEAD = timedelta(days=7305), timedelta(days=1827)
SERIES_DAYS = 180  # before and after an event; docs/spec/calendar.md#series
CONTACT_DAYS = 180  # before and after today; docs/spec/calendar.md#contact-range

# Field that `q` searches -> the record attribute.
SEARCHED: Mapping[CalendarField, str] = MappingProxyType(
    {
        CalendarField.TITLE: "title",
        CalendarField.DESCRIPTION: "description",
        CalendarField.LOCATION: "location",
    }
)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_LONG = re.compile(r"-?[0-9]{1,18}", re.ASCII)


def offset(value: int | None) -> int:
    """
    Read an offset; 0 without one.

    Raises:
        InvalidInput: It is below 0.
    """
    if (value or 0) < 0:
        raise InvalidInput("offset must be at least 0.")
    return value or 0


def text(value: str | None, name: str, *, min_length: int = 1) -> str | None:
    """
    Trim a search text; None when it is blank.

    Raises:
        InvalidInput: The text is too short.
    """
    trimmed = (value or "").strip()
    if not trimmed:
        return None
    if len(trimmed) < min_length:
        raise InvalidInput(f"{name} must have at least {min_length} characters.")
    return trimmed


def addresses(value: str | None) -> tuple[str, ...]:
    """
    Read comma-separated addresses.

    Raises:
        InvalidInput: There are none between the commas, or more than 50.
    """
    if not value:
        return ()
    addresses = (address.strip() for address in value.split(","))
    distinct = tuple(dict.fromkeys(address for address in addresses if address))
    if not distinct:
        raise InvalidInput("attendees must name at least one address.")
    if len(distinct) > MAX_ADDRESSES:
        raise InvalidInput(f"attendees may name at most {MAX_ADDRESSES} addresses.")
    return distinct


def calendar_ids(value: str | None) -> tuple[int, ...] | None:
    """
    Read comma-separated calendar ids; None without any.

    Raises:
        InvalidInput: One of them is not a whole number, or there are too many.
    """
    if not value:
        return None
    texts = [text.strip() for text in value.split(",")]
    if not all(map(_LONG.fullmatch, texts)):
        raise InvalidInput("calendars must be whole numbers, separated by commas.")
    calendar_ids = tuple(dict.fromkeys(map(int, texts)))
    if len(calendar_ids) > MAX_CALENDARS:
        raise InvalidInput(f"calendars may name at most {MAX_CALENDARS} ids.")
    return calendar_ids


def event_id(value: str) -> str:
    """
    Return a UUID in lower case.

    Raises:
        InvalidInput: `INVALID_ID`: the value is not a UUID.
    """
    if not _UUID.fullmatch(value):
        raise InvalidInput("The event id is not a UUID.", code=Code.INVALID_ID)
    return value.lower()


def listed_range(
    start: datetime | None, end: datetime | None, caller: Caller, now: datetime
) -> TimeRange:
    """
    Return the range to list: filled in, within the token's window, no finer than it may see.

    More than 10 years are cut to the last 20 and the next 5.

    Raises:
        InvalidInput: `INVALID_RANGE`.
    """
    requested = _near(timeframe.requested_range(start, end, grant=caller.grant, now=now), now)
    return requested if _sees_times(caller) else _coarse(requested, caller, now)


def free_busy_range(start: datetime, end: datetime, caller: Caller, now: datetime) -> Span:
    """
    Return the requested range within the token's window.

    Raises:
        InvalidInput: `INVALID_RANGE`, also for more than 366 days.
    """
    if end - start > MAX_FREE_BUSY:
        raise InvalidInput("The range may have at most 366 days.", code=Code.INVALID_RANGE)
    requested = timeframe.requested_range(start, end, grant=caller.grant, now=now)
    return Span(requested.start, requested.end)


def contact_range(caller: Caller, now: datetime) -> TimeRange:
    """Return the token's window; a side without a bound reaches 180 days from today."""
    grant = caller.grant
    far = timedelta(days=CONTACT_DAYS)
    usual = TimeRange(now - far, now + far).whole_days()
    bounds = timeframe.allowed_range(grant, now)
    window = TimeRange(
        usual.start if grant.past_days is None else bounds.start,
        usual.end if grant.future_days is None else bounds.end,
    )
    return _near(window, now)


def series_range(event: Event, caller: Caller, now: datetime) -> TimeRange:
    """Return the days around an event, in the token's window; around today if it has no time."""
    if event.start_utc is None or not _sees_times(caller):
        return contact_range(caller, now)
    near = timedelta(days=SERIES_DAYS)
    bounds = timeframe.allowed_range(caller.grant, now)
    return TimeRange(event.start_utc - near, event.start_utc + near).whole_days().clamp(bounds)


def started(span: TimeRange, caller: Caller, now: datetime) -> TimeRange:
    """Return the part of a range up to now; without the right to see times, up to midnight."""
    elapsed = TimeRange(span.start, now)
    return (elapsed if _sees_times(caller) else elapsed.whole_days()).clamp(span)


def searched(caller: Caller) -> frozenset[str]:
    """
    Return the attributes that `q` may look at.

    Raises:
        FieldNotVisible: None of them is visible.
    """
    fields = frozenset(name for word, name in SEARCHED.items() if not _conceals(caller, word))
    if not fields:
        raise FieldNotVisible("The filter 'q'", *SEARCHED, any_of=True)
    return fields


def event_projection(info: Info) -> frozenset[str]:
    """Return the attributes to read of events; rooms only when the location may be seen."""
    return with_rooms(info.context.caller, projection(info.raw, "Event"))


def with_rooms(caller: Caller, attributes: frozenset[str]) -> frozenset[str]:
    """Return *attributes* to read of events, with rooms where the location may be seen."""
    return attributes if _conceals(caller, CalendarField.LOCATION) else attributes | {ROOMS}


def view(account: Caller) -> CalendarView:
    """Return what a caller sees of the calendars of one of its accounts, and of their events."""
    hidden = masks.hidden_attributes("Event", account.grant)
    rooms = {ROOMS} if _conceals(account, CalendarField.LOCATION) else set[str]()
    return CalendarView(calendars=account.grant.calendar_ids, hidden=hidden | rooms)


def shown(event: Event, caller: Caller) -> Event:
    """Return an event without what its account hides."""
    if not caller.grant.accounts:
        return event
    hidden = masks.hidden_attributes("Event", caller.on(event.connection_id).grant)
    return structs.replace(event, **dict.fromkeys(hidden))


def organizer_counts(caller: Caller) -> bool:
    """Return whether people filters match the organizer (docs/spec/masks.md#calendar-filters)."""
    return not _conceals(caller, CalendarField.ORGANIZER)


def own_responses_count(caller: Caller) -> bool:
    """Return whether what the owner declined is free (docs/spec/masks.md#calendar-filters)."""
    return not _conceals(caller, CalendarField.ATTENDEES)


def coarse(caller: Caller) -> bool:
    """Return whether nothing may tell times of day: neither edges nor order."""
    return not _sees_times(caller)


def _sees_times(caller: Caller) -> bool:
    return not _conceals(caller, CalendarField.TIMES)


def _conceals(caller: Caller, word: CalendarField) -> bool:
    """Return whether *word* confines what is read and searched; `maskMode: basic` never does."""
    return caller.strict and caller.hides(word)


def _near(requested: TimeRange, now: datetime) -> TimeRange:
    if requested.end - requested.start <= LONGEST_RANGE:
        return requested
    return requested.clamp(TimeRange(now - FAR_BACK, now + FAR_AHEAD).whole_days())


def _coarse(requested: TimeRange, caller: Caller, now: datetime) -> TimeRange:
    """Widen to whole days, but never beyond the token's window; what is empty stays so."""
    if requested.empty:
        return requested
    bounds = timeframe.allowed_range(caller.grant, now)
    return requested.whole_days().clamp(bounds)
