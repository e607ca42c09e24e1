"""The calendar's rows, documents, schema and specification agree."""

import re

import msgspec
from graphql import FieldNode, FragmentSpreadNode, OperationDefinitionNode, parse, print_ast
from spec_pages import first_table, section, words

from graph import schema
from graph.coordinates import record_attribute
from graph.edge_table import EDGES
from graph.masking import guards
from providers.records import calendar as calendar_records
from rest_compat import documents
from rest_compat.table import ENDPOINTS

ROWS = [row for row in ENDPOINTS if row.surface == "calendar"]


def nodes(document):
    return parse(documents.document(f"calendar/{document}")).definitions


def operation(document):
    return next(node for node in nodes(document) if isinstance(node, OperationDefinitionNode))


def result(document):
    (field,) = operation(document).selection_set.selections
    return field


def members(field):
    return [node.name.value for node in field.selection_set.selections]


def member(field, name):
    return next(
        node
        for node in field.selection_set.selections
        if isinstance(node, FieldNode) and node.name.value == name
    )


def parts():
    return next(node for node in nodes("list_events") if node.name.value == "EventParts")


def test_every_row_is_a_read():
    assert {row.method for row in ROWS} == {"GET"}


def test_by_contact_is_matched_before_an_id():
    paths = [row.path for row in ROWS]

    assert paths.index("/api/access/calendar/events/by-contact") < paths.index(
        "/api/access/calendar/events/{eventId}"
    )


def test_the_query_parameters_of_the_list_are_specified_in_this_order():
    specified = [
        (words(name)[0], SCHEMA_TYPES[kind.split(",")[0]], DEFAULTS.get(default, default))
        for name, kind, default, _ in first_table("calendar", "Listing events")
    ]

    variables = [
        (
            node.variable.name.value,
            print_ast(node.type),
            print_ast(node.default_value) if node.default_value else None,
        )
        for node in operation("list_events").variable_definitions
    ]

    assert variables == specified
    assert len(variables) == 8


SCHEMA_TYPES = {
    "string": "String",
    "long": "Long",
    "DateTimeOffset": "DateTime",
    "int": "Int",
    "bool": "Boolean",
}
DEFAULTS = {"none": None, "see [default range](#default-range)": None}


def test_an_event_has_the_specified_fields_in_this_order():
    specified = [words(name)[0] for name, *_ in first_table("calendar", "Event object")]

    assert members(parts()) == specified
    assert len(specified) == 13
    assert members(member(parts(), "attendees")) == ["email", "name", "response"]


def test_an_event_by_contact_has_exactly_five_members():
    events = member(result("list_events_by_contact"), "events")

    assert members(events) == ["id", "title", "startUtc", "endUtc", "attendees"]


def test_lists_and_single_events_share_their_fields():
    for document, name in (("list_events", "events"), ("get_event", "event")):
        (spread,) = member(result(document), name).selection_set.selections
        assert isinstance(spread, FragmentSpreadNode)
        assert spread.name.value == "EventParts"


def test_free_and_busy_has_the_specified_fields():
    (example,) = re.findall(r"```json\n(.*?)```", section("calendar", "Free busy"), re.DOTALL)
    (specified,) = msgspec.json.decode(example)["calendars"]

    calendars = member(result("get_free_busy"), "calendars")

    assert members(calendars) == list(specified)
    for kind in ("busy", "free"):
        assert members(member(calendars, kind)) == list(specified[kind][0])


def test_the_other_members_of_each_response():
    common = ["accessInfo", "currentUserCalendarEmail"]

    assert members(result("list_events")) == ["events", *common, "authWarnings", "meta"]
    assert members(result("list_events_by_contact")) == ["events", *common, "authWarnings"]
    assert members(result("get_event")) == ["event", *common]
    assert members(result("get_free_busy")) == ["calendars", "accessInfo", "authWarnings"]
    assert members(result("list_calendars")) == ["calendars", "accessInfo", "authWarnings"]


def test_the_schema_says_what_each_field_requires():
    requirements = guards.requirements(schema.build())

    assert {
        name: [flag.value for flag in requirement.operations]
        for name, requirement in requirements.items()
        if requirement.surface == "calendar"
    } == {
        "calendarEvents": ["view_events"],
        "eventSeries": ["view_events"],
        "calendarEvent": ["view_events"],
        "eventsByContact": ["view_events"],
        "freeBusy": ["view_free_busy"],
        "calendars": ["list_calendars"],
        "calendar": ["list_calendars"],
    }
    assert (
        requirements["calendarEvents"].max_limit
        == requirements["eventsByContact"].max_limit
        == 1000
    )


def test_every_field_shows_the_record_attribute_of_its_name():
    types = schema.build().type_map
    for name, record in (
        ("Event", calendar_records.Event),
        ("Attendee", calendar_records.Attendee),
        ("Calendar", calendar_records.NamedCalendar),
        ("FreeBusyCalendar", calendar_records.FreeBusyCalendar),
        ("TimePeriod", calendar_records.TimePeriod),
    ):
        shown = {record_attribute(field) for field in types[name].fields.values()} - {None}
        for edge in EDGES:
            if edge.owner == name:
                shown |= set(edge.attributes)

        assert shown == {field.name for field in msgspec.structs.fields(record)}, name
