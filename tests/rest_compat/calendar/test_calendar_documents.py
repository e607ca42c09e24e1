"""The calendar's rows, documents, schema and contract say the same thing."""

import re

import msgspec
import pytest
from graphql import FieldNode, FragmentSpreadNode, OperationDefinitionNode, parse, print_ast
from paths import SHARED

from graph import schema
from graph.documents.coordinates import record_attribute
from graph.masking import guards, masks
from policy.vocabulary import CalendarField
from providers.records import calendar as calendar_records
from rest_compat import documents
from rest_compat.table import ENDPOINTS

ROWS = [row for row in ENDPOINTS if row.surface == "calendar"]

CONTRACT = SHARED / "spec" / "access-api.md"


def contract():
    if not CONTRACT.exists():
        pytest.skip("the contract is not beside this checkout")
    return CONTRACT.read_text("utf-8")


def nodes(document):
    return parse(documents.document(f"calendar/{document}")).definitions


def operation(document):
    return next(node for node in nodes(document) if isinstance(node, OperationDefinitionNode))


def result(document):
    (field,) = operation(document).selection_set.selections
    return field


def members(field):
    return [one.name.value for one in field.selection_set.selections]


def member(field, name):
    return next(
        one
        for one in field.selection_set.selections
        if isinstance(one, FieldNode) and one.name.value == name
    )


def parts():
    return next(node for node in nodes("list_events") if node.name.value == "EventParts")


def test_the_rows_are_the_contracts_and_one_more():
    section = contract().split("### Calendar surface")[1].split("###")[0]
    promised = re.findall(r"^\*\*GET (/\S+)\*\*", section, re.MULTILINE)

    built = [row.path.removeprefix("/api/access/calendar") for row in ROWS]

    assert sorted(built) == sorted([*promised, "/calendars"])
    assert {row.method for row in ROWS} == {"GET"}
    assert len(promised) == 4


def test_by_contact_is_matched_before_an_id():
    paths = [row.path for row in ROWS]

    assert paths.index("/api/access/calendar/events/by-contact") < paths.index(
        "/api/access/calendar/events/{eventId}"
    )


def test_the_query_parameters_of_the_list_are_the_contracts_in_its_order():
    section = contract().split("**GET /events**: list or search")[1].split("Date formats")[0]
    promised = re.findall(r"^\| (\w+) \| (\w+) \| ([\w ]+) \|", section, re.MULTILINE)[1:]
    said = {"none": None, "today": None, "from plus 7 days": None}

    built = [
        (
            node.variable.name.value,
            print_ast(node.type),
            print_ast(node.default_value) if node.default_value else None,
        )
        for node in operation("list_events").variable_definitions
    ]

    types = {"string": "String", "long": "Long", "DateTimeOffset": "DateTime", "int": "Int",
             "bool": "Boolean"}  # fmt: skip
    assert built == [
        (name, types[kind], said.get(default, default)) for name, kind, default in promised
    ]
    assert len(built) == 8


def test_an_event_has_the_contracts_fields_in_its_order():
    section = contract().split("### Calendar objects")[1].split("Attendee:")[0]
    promised = re.findall(r"^\| (\w+) \| [\w?\[\] ()]+ \|", section, re.MULTILINE)[1:]

    assert members(parts()) == promised
    assert len(promised) == 13
    assert members(member(parts(), "attendees")) == ["email", "name", "response"]


def test_an_event_by_contact_has_exactly_five_members():
    text = contract()
    promised = re.findall(
        r"`(\w+)`", text.split("The by-contact listing returns events with only")[1].split(".")[0]
    )

    events = member(result("list_events_by_contact"), "events")

    assert members(events) == promised == ["id", "title", "startUtc", "endUtc", "attendees"]


def test_lists_and_single_events_share_their_fields():
    for document, name in (("list_events", "events"), ("get_event", "event")):
        (spread,) = member(result(document), name).selection_set.selections
        assert isinstance(spread, FragmentSpreadNode)
        assert spread.name.value == "EventParts"


def test_free_and_busy_has_the_contracts_fields():
    text = contract()
    calendar = re.findall(r"`(\w+)` \(", text.split("FreeBusy calendar: ")[1].split("\n")[0])
    period = re.findall(r"`(\w+)` \(", text.split("TimePeriod: ")[1].split("\n")[0])

    told = member(result("get_free_busy"), "calendars")

    assert members(told) == calendar
    assert members(member(told, "busy")) == members(member(told, "free")) == period


def test_what_stands_beside_the_events():
    mine = ["accessInfo", "currentUserCalendarEmail"]

    assert members(result("list_events")) == ["events", *mine, "authWarnings", "meta"]
    assert members(result("list_events_by_contact")) == ["events", *mine, "authWarnings"]
    assert members(result("get_event")) == ["event", *mine]
    assert members(result("get_free_busy")) == ["calendars", "accessInfo", "authWarnings"]
    assert members(result("list_calendars")) == ["calendars", "accessInfo", "authWarnings"]


def test_the_schema_says_what_each_field_requires():
    needs = guards.requirements(schema.build())

    assert {
        name: [flag.value for flag in one.operations]
        for name, one in needs.items()
        if one.surface == "calendar"
    } == {
        "calendarEvents": ["view_events"],
        "calendarEvent": ["view_events"],
        "eventsByContact": ["view_events"],
        "freeBusy": ["view_free_busy"],
        "calendars": ["list_calendars"],
    }
    assert needs["calendarEvents"].max_limit == needs["eventsByContact"].max_limit == 1000


def test_every_mask_word_hides_something():
    words = {str(word) for word in masks.MASKED.values() if isinstance(word, CalendarField)}

    assert words == {str(word) for word in CalendarField}


def test_every_field_shows_the_record_attribute_of_its_name():
    types = schema.build().type_map
    for name, record in (
        ("Event", calendar_records.Event),
        ("Attendee", calendar_records.Attendee),
        ("Calendar", calendar_records.NamedCalendar),
        ("FreeBusyCalendar", calendar_records.FreeBusyCalendar),
        ("TimePeriod", calendar_records.TimePeriod),
    ):
        shown = {record_attribute(field) for field in types[name].fields.values()}

        assert shown == {field.name for field in msgspec.structs.fields(record)}, name
