"""Root queries: `calendarEvents`, `calendarEvent`, `eventsByContact`, `freeBusy`, `calendars`."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, TypeVar

import strawberry

from graph.context import Context, Info
from graph.events import filters, types
from graph.masking.guards import guarded
from graph.scalars import Long
from graph.warnings import all_failed_error, warnings
from policy import timeframe
from policy.caller import Caller
from policy.refusals import InvalidInput, NotFound, OutsideCalendars, OutsideTimeframe
from policy.vocabulary import CalendarField, CalendarOp, Code, Surface
from providers.calendar.merged_events import EventPage as FoundPage
from providers.failures import Missing
from providers.fanout import AllFailed
from providers.ports.calendar import (
    BusyQuery,
    CalendarView,
    EventNotVisible,
    EventQuery,
    NoSuchCalendar,
    Span,
)
from providers.records.calendar import Event, NamedCalendar

Argument = strawberry.argument
Result = TypeVar("Result")

_LIMIT = "1 to 1000; more is lowered to 1000."
_OFFSET = "The number of events to skip."
_NO_EVENT = "No event with this id."


# Argument of a filter -> the fields that it would reveal.
_REVEALING: Mapping[str, tuple[CalendarField, ...]] = MappingProxyType(
    {"attendees": (CalendarField.ATTENDEES,), "includeCancelled": (CalendarField.STATUS,)}
)
_REVEALED_BY_SERIES = (CalendarField.RECURRENCE,)
_REVEALED_BY_CONTACT = (CalendarField.ATTENDEES,)
_REVEALED_BY_FREE_BUSY = (CalendarField.TIMES,)


@guarded(
    CalendarOp.VIEW_EVENTS,
    max_limit=filters.MAX_LIMIT,
    revealing=_REVEALING,
    searching={"q": tuple(filters.SEARCHED)},
)
async def calendar_events(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    q: Annotated[
        str | None,
        Argument(description="Part of title, description or location, in any letter case."),
    ] = None,
    attendees: Annotated[
        str | None,
        Argument(
            description="Comma-separated addresses; events that any of them attends or organizes."
        ),
    ] = None,
    calendar_id: Annotated[Long | None, Argument(description="A calendar.")] = None,
    from_: Annotated[
        datetime | None,
        Argument(name=("from"), description="Events that end after this time; default: today."),
    ] = None,
    to: Annotated[
        datetime | None,
        Argument(description="Events that start before this time; default: `from` plus 7 days."),
    ] = None,
    limit: Annotated[int | None, Argument(description=_LIMIT)] = 50,
    offset: Annotated[int | None, Argument(description=_OFFSET)] = 0,
    include_cancelled: Annotated[
        bool | None, Argument(description="True: include cancelled events.")
    ] = False,
) -> types.EventPage:
    """List or search events over all calendars, earliest first."""
    context = info.context
    text, addresses = filters.text(q, "q"), filters.addresses(attendees)
    size = context.clamp_limit(limit, default=50, maximum=filters.MAX_LIMIT)
    skip = filters.offset(offset)
    now = context.now()
    filters.listed_range(from_, to, context.caller, now)
    values = {"attendees": addresses, "includeCancelled": include_cancelled}

    def query(account: Caller) -> EventQuery:
        account.admit(Surface.CALENDAR, CalendarOp.VIEW_EVENTS)
        for argument, fields in _REVEALING.items():
            if values[argument]:
                account.require_visible(f"The filter '{argument}'", *fields)
        span = filters.listed_range(from_, to, account, now)
        return EventQuery(
            span=Span(span.start, span.end),
            calendar_id=calendar_id,
            view=filters.view(account),
            text=text,
            text_fields=filters.searched(account) if text else frozenset(),
            addresses=addresses,
            organizer_counts=filters.organizer_counts(account),
            include_cancelled=bool(include_cancelled),
            by_day=filters.coarse(account),
            limit=size,
            offset=skip,
        )

    return await _listed(info, _on_each(context, query), skip)


@guarded(CalendarOp.VIEW_EVENTS)
async def calendar_event(
    info: Info, event_id: Annotated[str, Argument(description="The event's UUID.")]
) -> types.EventAnswer:
    """Read one event."""
    context = info.context
    known = filters.event_id(event_id)
    mine = _my_email(context)
    event = await _read_event(context, known, filters.event_projection(info))
    return types.EventAnswer(
        event=filters.shown(event, context.caller),
        access_info=context.caller.access_info(Surface.CALENDAR),
        current_user_calendar_email=mine,
    )


@guarded(CalendarOp.VIEW_EVENTS, max_limit=filters.MAX_LIMIT, reveals=_REVEALED_BY_SERIES)
async def event_series(
    info: Info,
    event_id: Annotated[str, Argument(description="The UUID of an instance.")],
    *,
    limit: Annotated[int | None, Argument(description=_LIMIT)] = 50,
    offset: Annotated[int | None, Argument(description=_OFFSET)] = 0,
) -> types.EventPage:
    """
    List the other instances of a recurring event that are near it, earliest first.

    Near are 180 days before and after it, in the token's window; around today where times are
    hidden. A single event has none.
    """
    context = info.context
    known = filters.event_id(event_id)
    size = context.clamp_limit(limit, default=50, maximum=filters.MAX_LIMIT)
    skip = filters.offset(offset)
    event = await _read_event(context, known, frozenset({"series"}), of_series=True)
    account = context.caller.on(event.connection_id)
    span = filters.series_range(event, account, context.now())
    query = EventQuery(
        span=Span(span.start, span.end),
        view=filters.view(account),
        by_day=filters.coarse(account),
        limit=size,
        offset=skip,
    )
    reading = context.calendars.instances(event, query, projection=filters.event_projection(info))
    try:
        page = await _translate_failures(reading)
    except Missing as missing:
        raise NotFound(_NO_EVENT, code=Code.EVENT_NOT_FOUND) from missing
    return _view(context, page, query.span, skip)


async def _read_event(
    context: Context, event_id: str, projection: frozenset[str], *, of_series: bool = False
) -> Event:
    """Read an event of the token's calendars and window, to list its series or not."""

    def view(account: Caller) -> CalendarView:
        account.admit(Surface.CALENDAR, CalendarOp.VIEW_EVENTS)
        if of_series:
            account.require_visible("The series of an event", *_REVEALED_BY_SERIES)
        return filters.view(account)

    views = tuple(_on_each(context, view).items())
    reading = context.loaders.event(event_id, views, projection)
    try:
        event = await _translate_failures(reading)
    except EventNotVisible as hidden:
        raise OutsideCalendars(
            _NO_EVENT, code=Code.EVENT_NOT_FOUND, calendar_id=hidden.calendar_id
        ) from hidden
    except Missing as missing:
        raise NotFound(_NO_EVENT, code=Code.EVENT_NOT_FOUND) from missing
    _require_allowed(event, context)
    return event


@guarded(CalendarOp.VIEW_EVENTS, max_limit=filters.MAX_LIMIT, reveals=_REVEALED_BY_CONTACT)
async def events_by_contact(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    email: Annotated[
        str | None, Argument(description="Part of an attendee's or the organizer's address.")
    ] = None,
    name: Annotated[str | None, Argument(description="Part of an attendee's name.")] = None,
    past: Annotated[
        bool | None, Argument(description="True: only events that have started.")
    ] = False,
    limit: Annotated[int | None, Argument(description=_LIMIT)] = 50,
    offset: Annotated[int | None, Argument(description=_OFFSET)] = 0,
) -> types.EventPage:
    """
    List the events that somebody takes part in, latest first.

    Both given: one attendee has both. The token's window is searched; a side of it that has no
    bound reaches 180 days from today.
    """
    context = info.context
    min_length = filters.MIN_CONTACT
    address, known_as = (
        filters.text(email, "email", min_length=min_length),
        filters.text(name, "name", min_length=min_length),
    )
    if address is None and known_as is None:
        raise InvalidInput(
            "At least one of email or name is required.", code=Code.MISSING_PARAMETER
        )
    size = context.clamp_limit(limit, default=50, maximum=filters.MAX_LIMIT)
    skip = filters.offset(offset)
    now = context.now()

    def query(account: Caller) -> EventQuery:
        account.admit(Surface.CALENDAR, CalendarOp.VIEW_EVENTS)
        account.require_visible("A search by contact", *_REVEALED_BY_CONTACT)
        span = filters.contact_range(account, now)
        searched = filters.started(span, account, now) if past else span
        return EventQuery(
            span=Span(searched.start, searched.end),
            view=filters.view(account),
            contact_email=address,
            contact_name=known_as,
            organizer_counts=filters.organizer_counts(account),
            newest_first=True,
            by_day=filters.coarse(account),
            limit=size,
            offset=skip,
        )

    return await _listed(info, _on_each(context, query), skip)


@guarded(CalendarOp.VIEW_FREE_BUSY, reveals=_REVEALED_BY_FREE_BUSY)
async def free_busy(
    info: Info,
    *,
    from_: Annotated[datetime, Argument(name="from", description="The start of the range.")],
    to: Annotated[
        datetime, Argument(description="The end of the range, at most 366 days after its start.")
    ],
    calendars: Annotated[
        str | None, Argument(description="Comma-separated calendar ids; all if absent.")
    ] = None,
    account: Annotated[
        str | None, Argument(description="The address of the only account to look at.")
    ] = None,
) -> types.FreeBusyAnswer:
    """Read when each calendar is busy and free; works at every access level."""
    context = info.context
    ids = filters.calendar_ids(calendars)
    address = filters.text(account, "account")
    if ids is not None and address is not None:
        raise InvalidInput("calendars and account exclude each other.")
    now = context.now()
    filters.free_busy_range(from_, to, context.caller, now)

    def query(own: Caller) -> BusyQuery:
        own.require_visible("Free and busy times", *_REVEALED_BY_FREE_BUSY)
        return BusyQuery(
            span=filters.free_busy_range(from_, to, own, now),
            view=filters.view(own),
            # The owner's own response is among the attendees' responses, so it is hidden with them.
            own_responses=filters.own_responses_count(own),
        )

    result = await _translate_failures(
        context.calendars.free_busy(_on_each(context, query), calendar_ids=ids, account=address)
    )
    return types.FreeBusyAnswer(
        calendars=result.calendars,
        access_info=context.caller.access_info(Surface.CALENDAR),
        auth_warnings=warnings(context, Surface.CALENDAR, result.warnings),
    )


@guarded(CalendarOp.LIST_CALENDARS)
async def calendars(info: Info) -> types.CalendarList:
    """List the calendars that the token may use; works at every access level."""
    context = info.context
    listing = await _translate_failures(
        context.calendars.calendars(_on_each(context, filters.view))
    )
    return types.CalendarList(
        calendars=listing.calendars,
        access_info=context.caller.access_info(Surface.CALENDAR),
        auth_warnings=warnings(context, Surface.CALENDAR, listing.warnings),
    )


@guarded(CalendarOp.LIST_CALENDARS)
async def calendar(
    info: Info, calendar_id: Annotated[Long, Argument(description="The calendar's id.")]
) -> NamedCalendar:
    """Read one of the calendars that the token may use."""
    context = info.context
    views = tuple(_on_each(context, filters.view).items())
    listing = await _translate_failures(context.loaders.calendars(views))
    for known in listing.calendars:
        if known.calendar_id == calendar_id:
            return known
    raise OutsideCalendars(
        f"No calendar with the id {calendar_id}.",
        code=Code.CALENDAR_NOT_FOUND,
        calendar_id=calendar_id,
    )


def _on_each(context: Context, build: Callable[[Caller], Result]) -> dict[int, Result]:
    """Return what *build* makes of the caller on each account that it does not refuse, by id."""
    return context.caller.on_each(context.caller.usable_connections(Surface.CALENDAR), build)


async def _listed(info: Info, queries: Mapping[int, EventQuery], skip: int) -> types.EventPage:
    reading = info.context.calendars.events(queries, projection=filters.event_projection(info))
    page = await _translate_failures(reading)
    spans = [query.span for query in queries.values()]
    read = [span for span in spans if not span.empty] or spans[:1]
    span = Span(min(span.start for span in read), max(span.end for span in read))
    return _view(info.context, page, span, skip)


async def _translate_failures(call: Awaitable[Result]) -> Result:
    """Await a call of the calendars and convert its failures to the errors of this surface."""
    try:
        return await call
    except NoSuchCalendar as unknown:
        raise OutsideCalendars(
            f"No calendar with the id {unknown.calendar_id}.",
            code=Code.CALENDAR_NOT_FOUND,
            calendar_id=unknown.calendar_id,
        ) from unknown
    except AllFailed as failure:
        raise all_failed_error(failure) from failure


def _require_allowed(event: Event, context: Context) -> None:
    """
    Check an event against the token's window.

    Raises:
        OutsideTimeframe: It lies outside.
    """
    account = context.caller.on(event.connection_id)
    bounds = timeframe.allowed_range(account.grant, context.now())
    if event.start_utc is None or event.end_utc is None:
        raise NotFound(_NO_EVENT, code=Code.EVENT_NOT_FOUND)
    if not Span(bounds.start, bounds.end).meets(event.start_utc, event.end_utc):
        raise OutsideTimeframe(event.start_utc, event.end_utc)


def _my_email(context: Context) -> str | None:
    """Return the address of the first usable account (docs/spec/calendar.md#account-address)."""
    return context.caller.usable_connections(Surface.CALENDAR)[0].account_email or None


def _view(context: Context, page: FoundPage, span: Span, skipped: int) -> types.EventPage:
    return types.EventPage(
        events=tuple([filters.shown(event, context.caller) for event in page.events]),
        access_info=context.caller.access_info(Surface.CALENDAR),
        current_user_calendar_email=_my_email(context),
        auth_warnings=warnings(context, Surface.CALENDAR, page.warnings),
        meta=types.EventPageMeta(
            count=len(page.events),
            offset=skipped,
            total_count=page.total,
            total_count_exact=page.total_exact,
            has_more=skipped + len(page.events) < page.total,
            from_=span.start,
            to=max(span.start, span.end),
        ),
    )
