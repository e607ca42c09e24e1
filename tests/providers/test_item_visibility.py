"""Item fields derived from columns, and columns that reveal hidden fields."""

from datetime import UTC, datetime

import pytest

from providers.item_visibility import (
    Cell,
    Column,
    derived_values,
    revealing_columns,
    source_columns,
)


def column(name, kind, title=None, **more):
    return Column(id=name, title=title or name, native=kind, type=kind, writable=True, **more)


BOARD = (
    column("p1", "status", "PRIORITY level"),
    column("s1", "status", "Stage"),
    column("s2", "status", "Phase"),
    column("t1", "timeline"),
    column("d1", "date"),
    column("d2", "date"),
    column("l1", "long_text", "Notes"),
    column("l2", "long_text", "The description"),
    column("o1", "people"),
    column("o2", "people"),
    column("g1", "tags"),
    column("g2", "dropdown"),
    column("c1", "formula", shows=frozenset({"status"})),
)


def test_each_field_has_its_columns_in_the_boards_order():
    column_ids = {name: [column.id for column in of] for name, of in source_columns(BOARD).items()}

    assert column_ids == {
        "status": ["s1"],
        "priority": ["p1"],
        "assignees": ["o1", "o2"],
        "due_date": ["d1"],
        "labels": ["g1", "g2"],
        "description": ["l2"],
    }


def test_without_a_better_column_the_next_kind_counts():
    board = [column for column in BOARD if column.id in {"p1", "t1", "l1"}]
    column_ids = {name: [column.id for column in of] for name, of in source_columns(board).items()}

    assert column_ids == {
        "status": [],
        "priority": ["p1"],
        "assignees": [],
        "due_date": ["t1"],
        "labels": [],
        "description": ["l1"],
    }


@pytest.mark.parametrize(
    ("hidden", "expected"),
    [
        ({"status"}, {"s1", "c1"}),
        ({"priority"}, {"p1"}),
        ({"assignees"}, {"o1", "o2"}),
        ({"labels", "due_date"}, {"g1", "g2", "d1"}),
        ({"comments"}, set()),
    ],
)
def test_hiding_a_field_hides_the_columns_that_reveal_it(hidden, expected):
    assert revealing_columns(BOARD, hidden) == expected


def test_fields_are_derived_from_cells():
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC)
    cells = [
        Cell(column=BOARD[0], text="High"),
        Cell(column=BOARD[1], text=""),
        Cell(column=BOARD[4], text="…", moment=noon),
        Cell(column=BOARD[8], parts=("Ana", "Bo")),
        Cell(column=BOARD[9], parts=("Bo", "Cy")),
    ]

    values = derived_values(
        cells, frozenset({"status", "priority", "due_date", "assignees", "name"})
    )

    assert values == {
        "status": None,
        "priority": "High",
        "due_date": noon,
        "assignees": ("Ana", "Bo", "Cy"),
    }
