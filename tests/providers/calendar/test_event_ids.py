"""The ids of events are UUIDs of version 5, made without the class."""

from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from providers.calendar.event_ids import event_id, public_ids
from providers.ports.calendar import CalendarKey

EVENTS = UUID("6f1c1c0e-52d5-5c8e-9a2b-7b1f0a6a4d11")


CALENDARS = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.integers(1), CALENDARS, st.text(max_size=9))
def test_an_event_id_is_the_uuid_of_its_calendar_and_native_id(connection, calendar, native):
    made = event_id(CalendarKey(connection, calendar), native)

    assert made == str(uuid5(EVENTS, f"{connection}|{calendar}|{native}"))


@given(st.integers(1), CALENDARS, st.lists(st.text(max_size=9), max_size=40))
def test_many_ids_are_those_of_the_events_one_by_one(connection, calendar, natives):
    key = CalendarKey(connection, calendar)

    assert public_ids(key, natives) == [event_id(key, native) for native in natives]
