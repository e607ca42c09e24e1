"""Calendar checks of provider B (Outlook calendar)."""

from msgraph.generated.models.attendee import Attendee
from msgraph.generated.models.attendee_type import AttendeeType
from msgraph.generated.models.calendar import Calendar
from msgraph.generated.models.date_time_time_zone import DateTimeTimeZone
from msgraph.generated.models.day_of_week import DayOfWeek
from msgraph.generated.models.email_address import EmailAddress
from msgraph.generated.models.event import Event
from msgraph.generated.models.event_type import EventType
from msgraph.generated.models.patterned_recurrence import PatternedRecurrence
from msgraph.generated.models.recurrence_pattern import RecurrencePattern
from msgraph.generated.models.recurrence_pattern_type import RecurrencePatternType
from msgraph.generated.models.recurrence_range import RecurrenceRange
from msgraph.generated.models.recurrence_range_type import RecurrenceRangeType
from msgraph.generated.models.response_type import ResponseType
from msgraph.generated.users.item.calendar.get_schedule.get_schedule_post_request_body import (
    GetSchedulePostRequestBody,
)
from msgraph.generated.users.item.calendar_view.calendar_view_request_builder import (
    CalendarViewRequestBuilder as View,
)
from msgraph.generated.users.item.calendars.item.calendar_view.calendar_view_request_builder import (
    CalendarViewRequestBuilder as OtherView,
)
from msgraph.generated.users.item.events.events_request_builder import EventsRequestBuilder as Many
from msgraph.generated.users.item.events.item.accept.accept_post_request_body import (
    AcceptPostRequestBody,
)
from msgraph.generated.users.item.events.item.decline.decline_post_request_body import (
    DeclinePostRequestBody,
)
from msgraph.generated.users.item.events.item.instances.instances_request_builder import (
    InstancesRequestBuilder as Instances,
)

UTC = 'outlook.timezone="UTC"'
PLAIN = 'outlook.body-content-type="text"'
IMMUTABLE = 'IdType="ImmutableId"'


async def agree(client, facts, asked, strict, refused):
    await calendars(client, facts, asked, strict)
    await view(client, facts, asked, strict)
    await masters(client, facts, asked, strict)
    await writing(client, asked, strict, refused)
    await answering(client, facts, asked, strict)
    await refusals(client, facts, asked, refused)
    await schedule(client, strict, refused)


async def calendars(client, facts, asked, strict):
    found = strict(await client.me.calendars.get()).value
    assert [item.is_default_calendar for item in found] == [True, False, False]
    assert found[0].owner.address == "me@provider-b.example"
    assert strict(await client.me.calendar.get()).id == found[0].id
    strict(await client.me.calendars.by_calendar_id(found[1].id).get())
    (group,) = strict(await client.me.calendar_groups.get()).value
    grouped = await client.me.calendar_groups.by_calendar_group_id(group.id).calendars.get()
    assert [item.id for item in grouped.value] == [item.id for item in found]
    made = strict(await client.me.calendars.post(Calendar(name="Neu")))
    changed = await client.me.calendars.by_calendar_id(made.id).patch(Calendar(name="Newer"))
    assert changed.name == "Newer"
    await client.me.calendars.by_calendar_id(made.id).delete()
    parameters = OtherView.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time=facts["since"], end_date_time=facts["until"], top=50
    )
    sites = client.me.calendars.by_calendar_id(found[1].id).calendar_view
    assert strict(await sites.get(asked(parameters))).value


async def view(client, facts, asked, strict):
    parameters = View.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time=facts["since"],
        end_date_time=facts["until"],
        top=9,
        orderby=["start/dateTime"],
        count=True,
    )
    seen, ids = [], []
    page = await client.me.calendar_view.get(asked(parameters, Prefer=(UTC, PLAIN, IMMUTABLE)))
    total = page.odata_count
    while page is not None:
        strict(page)
        seen += page.value
        link = page.odata_next_link
        page = (
            None
            if link is None
            else await client.me.calendar_view.with_url(link).get(
                asked(Prefer=(UTC, PLAIN, IMMUTABLE))
            )
        )
    ids = [item.id for item in seen]
    assert len(ids) == len(set(ids)) == total, (len(ids), total)
    starts = [item.start.date_time for item in seen]
    assert starts == sorted(starts)
    assert not any(item.type == EventType.SeriesMaster for item in seen)
    told = {
        (item.subject, item.start.date_time, item.end.date_time, item.is_cancelled)
        for item in seen
        if not item.is_all_day
    }
    planned = {tuple(item) for item in facts["planned"]}
    assert planned <= told, planned - told
    assert any(item.is_cancelled for item in seen)
    assert all(
        item.start.time_zone == "UTC" and item.start.date_time.endswith(".0000000") for item in seen
    )
    assert {str(item.body.content_type.value) for item in seen} == {"text"}
    (one,) = (
        event
        for event in seen
        if event.subject == "Monday round"
        and event.type == EventType.Exception
        and not event.is_cancelled
    )
    got = strict(
        await client.me.events.by_event_id(one.id).get(
            asked(Prefer=('outlook.timezone="W. Europe Standard Time"', IMMUTABLE))
        )
    )
    assert got.id == one.id and got.start.time_zone == "W. Europe Standard Time"
    assert got.start.date_time == "2026-03-24T09:00:00.0000000", got.start.date_time
    plain = strict(await client.me.events.by_event_id(got.series_master_id).get())
    assert plain.id != got.series_master_id and plain.type == EventType.SeriesMaster


async def masters(client, facts, asked, strict):
    parameters = Many.EventsRequestBuilderGetQueryParameters(
        top=100,
        filter="start/dateTime lt '2026-03-25T00:00:00Z' and showAs eq 'busy'",
        select=["subject", "type", "recurrence", "start"],
    )
    found = strict(await client.me.events.get(asked(parameters))).value
    kinds = {item.type for item in found}
    assert kinds == {EventType.SeriesMaster, EventType.SingleInstance}, kinds
    assert all(item.body is None for item in found)
    patterns = {
        item.recurrence.pattern.type for item in found if item.type == EventType.SeriesMaster
    }
    assert {RecurrencePatternType.Weekly, RecurrencePatternType.AbsoluteMonthly} <= patterns


def clock(text, zone):
    return DateTimeTimeZone(date_time=text, time_zone=zone)


async def writing(client, asked, strict, refused):
    zone = "Eastern Standard Time"
    event = Event(
        subject="Dröm",
        start=clock("2026-10-29T22:30:00", zone),
        end=clock("2026-10-30T00:30:00", zone),
        attendees=[
            Attendee(
                email_address=EmailAddress(address="ann@x.test", name="Ann"),
                type=AttendeeType.Optional,
            )
        ],
        is_online_meeting=True,
        recurrence=PatternedRecurrence(
            pattern=RecurrencePattern(
                type=RecurrencePatternType.Weekly,
                interval=1,
                days_of_week=[DayOfWeek.Thursday, DayOfWeek.Monday],
                first_day_of_week=DayOfWeek.Monday,
            ),
            range=RecurrenceRange(
                type=RecurrenceRangeType.Numbered,
                number_of_occurrences=4,
                recurrence_time_zone=zone,
            ),
        ),
    )
    made = strict(await client.me.events.post(event))
    assert made.type == EventType.SeriesMaster and made.online_meeting.join_url
    parameters = Instances.InstancesRequestBuilderGetQueryParameters(
        start_date_time="2026-10-01T00:00:00Z", end_date_time="2026-12-01T00:00:00Z"
    )
    one = client.me.events.by_event_id(made.id)
    found = strict(await one.instances.get(asked(parameters))).value
    # Daylight saving time ends in New York on the first of November.
    assert [each.start.date_time[:13] for each in found] == [
        "2026-10-30T02",
        "2026-11-03T03",
        "2026-11-06T03",
        "2026-11-10T03",
    ], [each.start.date_time for each in found]
    second = client.me.events.by_event_id(found[1].id)
    changed = strict(await second.patch(Event(subject="Later")))
    assert (changed.type, changed.subject) == (EventType.Exception, "Later")
    await client.me.events.by_event_id(found[2].id).delete()
    again = (await one.instances.get(asked(parameters))).value
    assert [each.subject for each in again] == ["Dröm", "Later", "Dröm"]
    await refused(client.me.events.by_event_id(found[2].id).get(), 404, "ErrorItemNotFound")
    await one.delete()
    await refused(one.get(), 404, "ErrorItemNotFound")


async def answering(client, facts, asked, strict):
    parameters = View.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time=facts["since"], end_date_time=facts["until"], top=200
    )
    found = (await client.me.calendar_view.get(asked(parameters))).value
    open_ones = [
        item
        for item in found
        if item.response_status.response == ResponseType.TentativelyAccepted
        and item.type == EventType.SingleInstance
    ]
    first = client.me.events.by_event_id(open_ones[0].id)
    await first.accept.post(AcceptPostRequestBody(comment="Yes", send_response=True))
    assert (await first.get()).response_status.response == ResponseType.Accepted
    await first.decline.post(DeclinePostRequestBody())


async def refusals(client, facts, asked, refused):
    calls = client.me.calendar_view
    await refused(calls.get(), 400, "ErrorInvalidParameter")
    long = View.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time="2019-11-12T00:00:00Z", end_date_time="2024-11-12T00:00:00Z"
    )
    await refused(calls.get(asked(long)), 400, "ErrorInvalidRequest")
    window = View.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time=facts["since"], end_date_time=facts["until"]
    )
    nowhere = asked(window, Prefer='outlook.timezone="Middle Earth"')
    await refused(calls.get(nowhere), 400, "TimeZoneNotSupportedException")
    await refused(client.me.events.by_event_id("nothing").get(), 400, "ErrorInvalidIdMalformed")
    await refused(client.me.events.post(Event(subject="x")), 400, "ErrorPropertyValidationFailure")


async def schedule(client, strict, refused):
    def body(until):
        return GetSchedulePostRequestBody(
            schedules=["me@provider-b.example", "nobody@x.test"],
            start_time=clock("2026-03-20T00:00:00", "UTC"),
            end_time=clock(until, "UTC"),
            availability_view_interval=60,
        )

    found = strict(await client.me.calendar.get_schedule.post(body("2026-03-21T00:00:00"))).value
    assert len(found[0].availability_view) == 24 and "2" in found[0].availability_view
    assert found[1].error.response_code == "ErrorMailRecipientNotFound"
    too_long = client.me.calendar.get_schedule.post(body("2026-06-21T00:00:00"))
    await refused(too_long, 400, "ErrorTimeIntervalTooBig")


async def sharing(reader, asked, strict, refused):
    """Read a calendar of somebody else: its private event shows when it is, and nothing else."""
    team = reader.users.by_user_id("team@provider-b.example")
    calendar = strict(await team.calendar.get())
    assert calendar.owner.address == "team@provider-b.example"
    assert (calendar.can_edit, calendar.can_view_private_items) == (False, False)
    parameters = View.CalendarViewRequestBuilderGetQueryParameters(
        start_date_time="2026-03-20T00:00:00Z",
        end_date_time="2026-03-21T00:00:00Z",
        orderby=["start/dateTime"],
    )
    plan, private = strict(await team.calendar_view.get(asked(parameters, Prefer=UTC))).value
    assert (plan.subject, plan.location.display_name) == ("Plan", "Room 5")
    assert (private.subject, private.location.display_name) == ("Private Appointment", "")
    assert private.start.date_time == "2026-03-20T11:00:00.0000000"
    own = team.calendars.by_calendar_id(calendar.id).events
    assert strict(await own.by_event_id(plan.id).get()).subject == "Plan"
    await refused(own.by_event_id(private.id).get(), 404, "ErrorItemNotFound")
    await refused(team.calendar.events.get(), 404, "ErrorItemNotFound")
    await refused(team.calendars.get(), 404, "ErrorItemNotFound")
    new = Event(subject="x", start=plan.start, end=plan.end)
    await refused(team.calendar.events.post(new), 403, "ErrorAccessDenied")
