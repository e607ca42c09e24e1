"""Property tests: a column parses any input or raises `BadColumnValue`."""

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.boards.column_parsers import PARSERS, ColumnWrite, parse_value
from sandbox.boards.errors import BadColumnValue
from sandbox.boards.labels import LabelResolver
from sandbox.boards.records import Column
from sandbox.boards.settings import dropdown_settings, status_settings
from sandbox.boards.store import BoardStore
from sandbox.storage.database import Database
from sandbox.world.tasks.boards import seed

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9)
)
KEYS = st.sampled_from(
    [
        *("text", "label", "index", "labels", "ids", "date", "time", "from", "to", "checked"),
        *("personsAndTeams", "email", "phone", "url", "rating", "tag_ids", "item_ids", "hour"),
        *("minute", "countryCode", "countryName", "week", "startDate", "endDate", "id", "kind"),
    ]
)
JSON = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(KEYS, below, max_size=4)
)


SETTINGS = {"status": status_settings(), "dropdown": dropdown_settings("A", "B")}


@pytest.fixture(scope="module")
def store():
    db = Database(":memory:")
    seed(db)
    return BoardStore(db)


@settings(suppress_health_check=list(HealthCheck))
@given(kind=st.sampled_from(sorted(PARSERS)), value=JSON, create_missing=st.booleans())
def test_any_input_is_parsed_or_rejected(store, kind, value, create_missing):
    column = Column(id="c", title="C", type=kind, settings=SETTINGS.get(kind, {}))
    write = ColumnWrite(
        store=store,
        column=column,
        labels=LabelResolver(create_missing=create_missing),
        timestamp=store.now(),
    )
    with suppress(BadColumnValue):
        json.dumps(parse_value(write, value))
