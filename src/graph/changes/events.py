"""Rows of calendars: the events of a range, compared with what the token saw of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from graph.changes.following import Call, Outcome, visible
from graph.changes.listings import ListingFeed
from graph.context import Context
from graph.events import filters
from policy import timeframe
from policy.caller import Caller
from policy.timeframe import TimeRange
from policy.vocabulary import CalendarOp, Surface
from providers.failures import Broken, ProviderFailure, Throttled, TimedOut
from providers.fanout import AllFailed, ConnectionWarning
from providers.ports.calendar import EventQuery, Span
from providers.records.base import from_epoch_ms, to_epoch_ms
from providers.records.calendar import Event

# Of the type `Event`, in its order; without its id, its connection and its edges.
ATTRIBUTES = (
    *("title", "description", "location", "start_utc", "end_utc", "all_day", "status"),
    *("organizer", "attendees", "join_url", "labels", "is_recurring_event"),
)
MAX_EVENTS = 20_000  # of one connection; docs/spec/changes.md#limits
_PAST, _FUTURE, _LEAST = timedelta(days=30), timedelta(days=365), timedelta(days=90)


async def follow(call: Call) -> Mapping[int, Outcome]:
    """Return what the calendars of each usable account tell, by its connection."""
    context = call.context
    last = to_epoch_ms(context.now() + _LEAST)
    feeds: dict[int, ListingFeed] = {}
    ranges: dict[int, TimeRange] = {}
    queries: dict[int, EventQuery] = {}
    outcomes: dict[int, Outcome] = {}
    for name, account in call.admitted(Surface.CALENDAR, CalendarOp.VIEW_EVENTS).items():
        feeds[name] = feed = ListingFeed(
            call,
            (name,),
            visible(account.grant, "Event", ATTRIBUTES),
            most=MAX_EVENTS,
            is_valid=lambda followed: followed.end >= last,
        )
        ranges[name] = _range(feed, name, context.now())
        queries[name] = _query(context, account, ranges[name])
    attributes = frozenset(name for feed in feeds.values() for name in feed.seen)
    events, warnings, failure = await _read(context, queries, attributes)
    by_account: dict[int, list[Event]] = {name: [] for name in feeds}
    for event in events:
        by_account[event.connection_id or 0].append(event)
    failed = {warning.connection.id for warning in warnings}
    for name, feed in feeds.items():
        if failure is not None or name in failed:
            outcomes |= feed.failed(failure or Broken(), warnings)
            continue
        start, end = to_epoch_ms(ranges[name].start), to_epoch_ms(ranges[name].end)
        outcomes |= await feed.compare({name: by_account[name]}, start=start, end=end)
    return outcomes


def _range(feed: ListingFeed, connection: int, now: datetime) -> TimeRange:
    """Return the range that is followed; a new one where nothing is known."""
    known = feed.known.get(connection)
    if known is not None:
        return TimeRange(from_epoch_ms(known.start), from_epoch_ms(known.end))
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return TimeRange(today - _PAST, today + _FUTURE)


def _query(context: Context, account: Caller, range_: TimeRange) -> EventQuery:
    span = range_.clamp(timeframe.allowed_range(account.grant, context.now()))
    return EventQuery(
        span=Span(span.start, span.end),
        view=filters.view(account),
        by_day=filters.coarse(account),
        limit=MAX_EVENTS + 1,
    )


async def _read(
    context: Context, queries: Mapping[int, EventQuery], attributes: frozenset[str]
) -> tuple[Sequence[Event], Sequence[ConnectionWarning], ProviderFailure | None]:
    """Return the events, what failed, and the reason where it is that of all accounts."""
    if not queries:
        return (), (), None
    projection = filters.with_rooms(context.caller, attributes)
    try:
        page = await context.calendars.events(queries, projection=projection)
    except AllFailed as failure:
        return (), failure.warnings, None
    except (Throttled, TimedOut) as failure:
        if context.require_all:
            raise
        return (), (), failure
    return page.events, page.warnings, None
