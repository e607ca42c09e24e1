"""Imported folders and tables, read through the API of the sandbox."""

import os

import pytest

from sandbox.collab.store import FILES_FOLDER
from sandbox.importing import csv_tables
from sandbox.importing.dispatch import import_path
from sandbox.importing.report import CannotImport
from sandbox.storage.database import open_database


@pytest.fixture
def world(tmp_path, world_in):
    return world_in(tmp_path / "data")


def run_import(world, path, **options):
    """Import like the command: over a separate connection."""
    store = open_database(world.state.database.folder)
    try:
        return import_path(store, into="collab", path=path, **options)
    finally:
        store.close()


async def test_folder_is_imported_recursively(tmp_path, world, client):
    source = tmp_path / "Old server"
    (source / "Empty").mkdir(parents=True)
    (source / "Deep" / "Deeper").mkdir(parents=True)
    (source / "Deep" / "Deeper" / "läse me.txt").write_text("a very unusual wording")
    (source / "data.bin").write_bytes(bytes(range(256)) * 5000)
    (source / "bad:name.txt").write_text("x")
    (source / "link").symlink_to(source / "data.bin")
    report = run_import(world, source)
    again = run_import(world, source)
    drives = (await client.get("/sites/root/drives")).json()["value"]
    drive = next(record for record in drives if record["name"] == "Old server")["id"]
    matches = (await client.get(f"/drives/{drive}/root/search(q='unusual')")).json()["value"]
    record = (await client.get(f"/drives/{drive}/root:/data.bin")).json()

    assert report.imported == 2
    assert report.skipped == (
        ("bad:name.txt", "The provided name cannot contain these characters or is reserved."),
        ("link", "a link"),
    )
    assert (again.imported, len(again.skipped)) == (0, 4)
    assert [record["name"] for record in matches] == ["läse me.txt"]
    assert record["size"] == 1_280_000


async def test_changed_file_is_updated(tmp_path, world, client):
    source = tmp_path / "Notes"
    source.mkdir()
    (source / "a.txt").write_text("first")
    run_import(world, source)
    drives = (await client.get("/sites/root/drives")).json()["value"]
    place = f"/drives/{drives[-1]['id']}/root:/a.txt"
    before = (await client.get(place)).json()
    (source / "a.txt").write_text("second one")
    report = run_import(world, source)
    after = (await client.get(place)).json()

    assert report.imported == 1
    assert (after["id"], after["size"]) == (before["id"], 10)
    assert after["eTag"].endswith(',2"')


async def test_table_becomes_a_list_with_typed_columns(tmp_path, world, client):
    source = tmp_path / "boats.csv"
    source.write_text(
        "name;length m;built;sold;state;0code\n"
        + "".join(
            f"Boat {n};{n},5;0{n}.03.2020;{'ja' if n % 2 else 'nein'};"
            f"{'new' if n < 5 else 'old'};00{n}\n"
            for n in range(1, 9)
        )
        + "too;many;cells;in;this;row;here\n"
    )
    report = run_import(world, source, list_name="Boats")
    again = run_import(world, source, list_name="Boats")
    site = world.root.id
    site_list = (await client.get(f"/sites/{site}/lists/Boats?$expand=columns")).json()
    kinds = {
        column["name"]: next(kind for kind in ("number", "dateTime", "boolean", "choice", "text")
                             if kind in column)
        for column in site_list["columns"] if column["columnGroup"] == "Custom Columns"
    }  # fmt: skip
    rows = (await client.get(f"/sites/{site}/lists/Boats/items?$expand=fields")).json()["value"]

    assert (report.imported, report.skipped) == (8, (("line 10", "more cells than columns"),))
    assert (again.imported, len(again.skipped)) == (0, 9)
    assert kinds == {
        "length_x0020_m": "number",
        "built": "dateTime",
        "sold": "boolean",
        "state": "choice",
        "_x0030_code": "text",
    }
    fields = rows[0]["fields"]
    assert {name: fields[name] for name in ("Title", *kinds)} == {
        "Title": "Boat 1",
        "length_x0020_m": 1.5,
        "built": "2020-03-01T00:00:00Z",
        "sold": True,
        "state": "new",
        "_x0030_code": "001",
    }


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (b"a,b\n1,x\n", [("a", "number"), ("b", "text")]),
        ("\ufeffa\tb\n1\tx\n".encode(), [("a", "number"), ("b", "text")]),
        ("h\xf6he;b\n1;2026-01-31\n".encode("cp1252"), [("höhe", "number"), ("b", "dateTime")]),
        ("a,b\n1,x\n".encode("utf-16"), [("a", "number"), ("b", "text")]),
        (b'"a;b",a,A,\n1,2,3,4\n', [("a;b", "number"), ("a", "number"), ("A 2", "number"),
                                     ("Column 4", "number")]),
        (b"a\n\n007\n", [("a", "text")]),
        (b'a,b\n"two\nlines",\n', [("a", "note"), ("b", "text")]),
    ],
)  # fmt: skip
def test_csv_dialects_and_character_sets_are_detected(tmp_path, content, columns):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    table = csv_tables.read(path)

    assert [(column.title, column.kind) for column in table.columns] == columns
    assert len(table.rows) == 1


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("empty.csv", b"", {}),
        ("binary.csv", b"\0\1\2", {}),
        ("blank.csv", b",,\n1,2,3\n", {}),
        ("ok.csv", b"a\n1\n", {"board_name": "x"}),
        ("ok.csv", b"a\n1\n", {"list_name": "Only library"}),
        ("file.pdf", b"%PDF", {}),
    ],
)
def test_invalid_import_is_refused(tmp_path, world, name, content, options):
    world.make.library(world.root, "Only library")
    world.make.save()
    path = tmp_path / name
    path.write_bytes(content)

    with pytest.raises(CannotImport):
        run_import(world, path, **options)


async def test_imported_files_are_readable_only_by_the_owner(tmp_path, world):
    source = tmp_path / "Private"
    source.mkdir()
    (source / "a.txt").write_text("a")
    before = os.umask(0o022)
    try:
        run_import(world, source)
    finally:
        os.umask(before)
    folder = world.state.database.folder / FILES_FOLDER

    assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in folder.iterdir()] == [0o600]
