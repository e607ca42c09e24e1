"""Import of CSV tables: every row once, in columns of detected types."""

import pytest

from sandbox.boards.store import BoardStore
from sandbox.importing.dispatch import import_path
from sandbox.importing.report import CannotImport
from sandbox.storage.database import Database

TABLE = """Task,Section,Status,Assignee,Due date,Hours,Paid,Contact,Sheet,Tags,Remarks
"The ""old"" mast",Yard,Open,Jonas Ekström,2026-12-01,2.5,yes,a@b.test,http://x.test,"oak, urgent",x
Åring,Yard,Open,"Astrid Bergqvist; jonas@harbourlight.example",2026-12-02T14:30:00Z,10,no,,,,
桟橋,Loft,Done,,,,,,,,"two
lines"
,Yard,Open,,,,,,,,
Plane the keel,Yard,Open,Nobody Known,,,,,,,
"""

ITEMS = """query($b:[ID!]){boards(ids:$b){groups{title} columns{id title type}
  items_page(limit:500){items{name group{title} column_values{text column{title}}}}}}"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text(TABLE.replace("Nobody Known", "Jonas Ekström"), encoding="utf-8")
    return path


def board_by_name(boards, name):
    store = BoardStore(boards.sandbox.state.database)
    return next(board for board in store.boards.all() if board.name == name)


async def test_table_becomes_a_board_with_typed_columns(boards, table):
    report = import_path(boards.sandbox.state.database, into="tasks", path=table, board_name="Jobs")
    data = await boards.data(ITEMS, b=[board_by_name(boards, "Jobs").id])
    board = data["boards"][0]
    first, second, third, _ = board["items_page"]["items"]

    assert (report.imported, report.skipped) == (4, (("line 6", "has no name"),))
    assert {column["title"]: column["type"] for column in board["columns"]} == {
        "Name": "name",
        "Status": "status",
        "Assignee": "people",
        "Due date": "date",
        "Hours": "numbers",
        "Paid": "checkbox",
        "Contact": "email",
        "Sheet": "link",
        "Tags": "dropdown",
        "Remarks": "long_text",
    }
    assert (first["name"], first["group"]["title"]) == ('The "old" mast', "Yard")
    assert [column_value["text"] for column_value in first["column_values"]] == [
        *("Open", "Jonas Ekström", "2026-12-01", "2.5", "v", "a@b.test"),
        *("http://x.test", "oak, urgent", "x"),
    ]
    assert [column_value["text"] for column_value in second["column_values"]][:4] == [
        *("Open", "Astrid Bergqvist, Jonas Ekström", "2026-12-02 14:30", "10")
    ]
    assert third["name"] == "Plane the keel"
    assert [group["title"] for group in board["groups"]] == ["Imported", "Yard", "Loft"]


async def test_second_import_adds_only_new_rows(boards, table):
    store = boards.sandbox.state.database
    import_path(store, into="tasks", path=table)
    table.write_text(TABLE + "Fresh,Loft,Brand new,,,,,,,,\n", encoding="utf-8")
    report = import_path(store, into="tasks", path=table)
    board = board_by_name(boards, "jobs")

    assert [reason for _, reason in report.skipped] == [
        *("already there", "already there", "already there", "has no name"),
        "Assignee: invalid value - person nobody known is not on this account",
    ]
    assert report.imported == 1
    assert sorted(board.column("status_0").settings["labels"].values()) == [
        *("Brand new", "Done", "Open")
    ]


async def test_import_into_an_empty_account_creates_a_user(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_bytes("Größe;Wert\nklein;1,5\n".encode("cp1252"))
    store = Database(":memory:")
    report = import_path(store, into="tasks", path=path)
    boards = BoardStore(store)
    (item,) = boards.items.all()

    assert (report.imported, item.name) == (1, "klein")
    assert item.values == {"numbers_0": "1.5"}
    assert [item.name for item in boards.users.all()] == ["Importer"]


def test_import_takes_folders_and_rejects_unknown_options(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("a,b\nx,1\n", encoding="utf-8")
    store = Database(":memory:")
    import_path(store, into="tasks", path=path)

    with pytest.raises(CannotImport, match="without the options"):
        import_path(store, into="tasks", path=path, list_name="x")
    with pytest.raises(CannotImport, match="takes no options"):
        import_path(store, into="tasks", path=tmp_path, board_name="x")
    (tmp_path / "notes.txt").write_text("x")
    report = import_path(store, into="tasks", path=tmp_path)
    assert report.imported == 0
    assert [name for name, _ in report.skipped] == ["plain.csv: line 2", "notes.txt"]
