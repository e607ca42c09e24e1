"""Folders of calendars, mail and tables: each file once, those that cannot be read by name."""

import pytest

from sandbox.importing.dispatch import import_path
from sandbox.importing.report import CannotImport
from sandbox.state import open_state

EVENT = """BEGIN:VCALENDAR\r
VERSION:2.0\r
BEGIN:VEVENT\r
UID:{uid}@x\r
DTSTART:20261124T100000Z\r
DTEND:20261124T110000Z\r
SUMMARY:{uid}\r
END:VEVENT\r
END:VCALENDAR\r
"""
MAIL = b"From: a@x.example\r\nTo: b@x.example\r\nSubject: x\r\nMessage-ID: <1@x>\r\n\r\nHello\r\n"


@pytest.fixture
def store():
    return open_state(None).database


@pytest.fixture
def folder(tmp_path):
    for uid in ("one", "two"):
        (tmp_path / f"{uid}.ics").write_text(EVENT.format(uid=uid))
    (tmp_path / "broken.ics").write_text("no calendar")
    return tmp_path


@pytest.mark.parametrize("mailbox", ["provider-a", "provider-b"])
def test_a_folder_of_calendars_is_imported_file_by_file(store, folder, mailbox):
    report = import_path(store, into=mailbox, path=folder)

    assert report.imported == 2
    assert [name for name, _ in report.skipped] == ["broken.ics"]


def test_mail_beside_calendars_is_imported_too(store, folder):
    (folder / "a.eml").write_bytes(MAIL)
    (folder / "notes.txt").write_text("no mail")

    report = import_path(store, into="provider-a", path=folder)

    assert report.imported == 3
    assert [name for name, _ in report.skipped] == ["notes.txt", "broken.ics"]


def test_each_table_of_a_folder_becomes_a_board(store, tmp_path):
    (tmp_path / "boats.csv").write_text("Name,Length\nYdun,9\nIdun,7\n")
    (tmp_path / "read.me").write_text("x")

    report = import_path(store, into="tasks", path=tmp_path)

    assert report.imported == 2
    assert report.skipped == (("read.me", "not a .csv file"),)


def test_options_of_one_board_are_refused_for_a_folder(store, tmp_path):
    with pytest.raises(CannotImport, match="board_name"):
        import_path(store, into="tasks", path=tmp_path, board_name="Boats")
