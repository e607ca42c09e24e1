"""
Calendars and contacts on the owners' own servers, by CalDAV and CardDAV.

See docs/spec/upstream/caldav.md.

    calendars         the calendar port of one account
    contacts          people in the address books of an account
    discovery         from the address of a server to calendars and address books
    event_reading     the calendar objects of a range, read anew only where they changed
    parsing_budget    what parsing the objects of a reading may cost
    account_memory    memory of an account between requests, and the objects of ranges
    dav_client        requests by WebDAV
    multistatus       bodies of WebDAV requests and answers
    failures          error answers as failures
    checks            checks of an account
    content_lines     syntax of iCalendar: components and content lines
    calendar_objects  from iCalendar to the events of one calendar object
    people            people and joining links of an event
    ical_times        dates, times and durations of iCalendar
    time_zones        time zones of a calendar object
    zone_names        time zones by the names that programs write
    zone_definitions  time zones by VTIMEZONE
    bounded_rules     recurrence rules of dateutil that end after a number of periods
    recurrence        starts of a series within a range
    occurrences       the events of a calendar object that overlap a range
    mapping           from occurrences to records
"""

from providers.catalogue.descriptors import Connector, Http, OwnServer, Service

CONNECTOR = Connector(
    code="CALDAV",
    name="Calendar server",
    http=Http(
        classify=f"{__name__}.failures:classify",
        concurrency=4,
        scheme="Basic",
        from_origin=True,  # these servers send addresses anywhere on their origin
    ),
    own_server=OwnServer(protocol="CalDAV", example="https://calendar.example.org", scheme="https"),
    services=(
        Service(
            kind="calendar",
            product="own calendar server",
            port=f"{__name__}.calendars:open_port",
            checks=f"{__name__}.checks:check_calendars",
            people=f"{__name__}.contacts.address_books:open_port",
            people_scopes=("carddav",),  # no consent: an operator names it
        ),
    ),
)
