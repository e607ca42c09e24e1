"""Root queries: `calendarEvents`, `calendarEvent`, `eventsByContact`, `freeBusy`, `calendars`."""

from collections.abc import Awaitable
from datetime import datetime
from typing import Annotated, TypeVar

import strawberry

from graph.context import Context, Info
from graph.events import filters, views
from graph.events.types import CalendarList, EventAnswer, EventPage, FreeBusyAnswer
from graph.masking.guards import guarded
from graph.scalars import Long
from graph.warnings import all_failed_error, warnings
from policy import timeframe
from policy.refusals import InvalidInput, NotFound, OutsideCalendars, OutsideTimeframe
from policy.timeframe import TimeRange
from policy.vocabulary import CalendarField, CalendarOp, Code, Surface
from providers.calendar.merged_calendars import EventPage as FoundPage
from providers.failures import Missing
from providers.fanout import AllFailed
from providers.ports.calendar import EventNotVisible, EventQuery, NoSuchCalendar, Span
from providers.records.calendar import Event

Argument = strawberry.argument
Result = TypeVar("Result")

_LIMIT = "1 to 1000; more is lowered to 1000."
_OFFSET = "The number of events to skip."
_NO_EVENT = "No event with this id."


@guarded(CalendarOp.VIEW_EVENTS, returns=EventPage, max_limit=filters.MAX_LIMIT)
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
            description="Comma-separated addresses; events that any of them attends or organises."
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
) -> views.EventPageView:
    """List or search events over all calendars, earliest first."""
    context = info.context
    text, addresses = filters.text(q, "q"), filters.addresses(attendees)
    size = context.clamp_limit(limit, default=50, maximum=filters.MAX_LIMIT)
    skip = filters.offset(offset)
    span = filters.listed_range(from_, to, context)
    context.caller.usable_connections(Surface.CALENDAR)
    if addresses:
        context.caller.require_visible("The filter 'attendees'", CalendarField.ATTENDEES)
    if include_cancelled:
        context.caller.require_visible("The filter 'includeCancelled'", CalendarField.STATUS)
    query = EventQuery(
        span=Span(span.start, span.end),
        calendar_id=calendar_id,
        allowed=context.caller.grant.calendar_ids,
        text=text,
        text_fields=filters.searched(context) if text else frozenset(),
        addresses=addresses,
        organizer_counts=filters.organizer_counts(context),
        include_cancelled=bool(include_cancelled),
        by_day=filters.coarse(context),
        limit=size,
        offset=skip,
    )
    page = await _translate_failures(
        context.calendars.events(query, wanted=filters.wanted_of_event(info))
    )
    return _view(context, page, span, skip)


@guarded(CalendarOp.VIEW_EVENTS, returns=EventAnswer)
async def calendar_event(
    info: Info, event_id: Annotated[str, Argument(description="The event's UUID.")]
) -> views.EventAnswerView:
    """Read one event."""
    context = info.context
    known = filters.event_id(event_id)
    mine = _my_email(context)
    reading = context.calendars.event(
        known, allowed=context.caller.grant.calendar_ids, wanted=filters.wanted_of_event(info)
    )
    try:
        event = await _translate_failures(reading)
    except EventNotVisible as hidden:
        raise OutsideCalendars(
            _NO_EVENT, code=Code.EVENT_NOT_FOUND, calendar_id=hidden.calendar_id
        ) from hidden
    except Missing as missing:
        raise NotFound(_NO_EVENT, code=Code.EVENT_NOT_FOUND) from missing
    _require_allowed(event, context)
    return views.EventAnswerView(
        event=event,
        access_info=context.caller.access_info(Surface.CALENDAR),
        current_user_calendar_email=mine,
    )


@guarded(CalendarOp.VIEW_EVENTS, returns=EventPage, max_limit=filters.MAX_LIMIT)
async def events_by_contact(
    info: Info,
    *,
    email: Annotated[
        str | None, Argument(description="Part of an attendee's or the organiser's address.")
    ] = None,
    name: Annotated[str | None, Argument(description="Part of an attendee's name.")] = None,
    limit: Annotated[int | None, Argument(description=_LIMIT)] = 50,
    offset: Annotated[int | None, Argument(description=_OFFSET)] = 0,
) -> views.EventPageView:
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
    context.caller.usable_connections(Surface.CALENDAR)
    context.caller.require_visible("A search by contact", CalendarField.ATTENDEES)
    span = filters.contact_range(context)
    query = EventQuery(
        span=Span(span.start, span.end),
        allowed=context.caller.grant.calendar_ids,
        contact_email=address,
        contact_name=known_as,
        organizer_counts=filters.organizer_counts(context),
        newest_first=True,
        by_day=filters.coarse(context),
        limit=size,
        offset=skip,
    )
    page = await _translate_failures(
        context.calendars.events(query, wanted=filters.wanted_of_event(info))
    )
    return _view(context, page, span, skip)


@guarded(CalendarOp.VIEW_FREE_BUSY, returns=FreeBusyAnswer)
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
) -> views.FreeBusyAnswerView:
    """Read when each calendar is busy and free; works at every access level."""
    context = info.context
    ids = filters.calendar_ids(calendars)
    span = filters.free_busy_range(from_, to, context)
    context.caller.usable_connections(Surface.CALENDAR)
    context.caller.require_visible("Free and busy times", CalendarField.TIMES)
    result = await _translate_failures(
        context.calendars.free_busy(
            span,
            calendar_ids=ids,
            allowed=context.caller.grant.calendar_ids,
            # The owner's own response is among the attendees' responses, so it is hidden with them.
            own_responses=filters.own_responses_count(context),
        )
    )
    return views.FreeBusyAnswerView(
        calendars=result.calendars,
        access_info=context.caller.access_info(Surface.CALENDAR),
        auth_warnings=warnings(context, Surface.CALENDAR, result.warnings),
    )


@guarded(CalendarOp.LIST_CALENDARS, returns=CalendarList)
async def calendars(info: Info) -> views.CalendarListView:
    """List the calendars that the token may use; works at every access level."""
    context = info.context
    context.caller.usable_connections(Surface.CALENDAR)
    listing = await _translate_failures(
        context.calendars.calendars(allowed=context.caller.grant.calendar_ids)
    )
    return views.CalendarListView(
        calendars=listing.calendars,
        access_info=context.caller.access_info(Surface.CALENDAR),
        auth_warnings=warnings(context, Surface.CALENDAR, listing.warnings),
    )


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
    bounds = timeframe.allowed_range(context.caller.grant, context.now())
    if event.start_utc is None or event.end_utc is None:
        raise NotFound(_NO_EVENT, code=Code.EVENT_NOT_FOUND)
    if not Span(bounds.start, bounds.end).meets(event.start_utc, event.end_utc):
        raise OutsideTimeframe(event.start_utc, event.end_utc)


def _my_email(context: Context) -> str | None:
    """Return the address of the first usable account (docs/spec/calendar.md#account-address)."""
    return context.caller.usable_connections(Surface.CALENDAR)[0].account_email or None


def _view(context: Context, page: FoundPage, span: TimeRange, skipped: int) -> views.EventPageView:
    return views.EventPageView(
        events=page.events,
        access_info=context.caller.access_info(Surface.CALENDAR),
        current_user_calendar_email=_my_email(context),
        auth_warnings=warnings(context, Surface.CALENDAR, page.warnings),
        meta=views.EventPageMetaView(
            count=len(page.events),
            offset=skipped,
            total_count=page.total,
            total_count_exact=page.total_exact,
            has_more=skipped + len(page.events) < page.total,
            from_=span.start,
            to=max(span.start, span.end),
        ),
    )
