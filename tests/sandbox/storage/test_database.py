"""The sandbox's database, opened by several processes."""

import sqlite3

import pytest

from sandbox.storage import database


def test_a_switch_to_wal_waits_for_other_processes(tmp_path, monkeypatch):
    first = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    first.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(database.time, "sleep", lambda _seconds: first.execute("ROLLBACK"))
    second = sqlite3.connect(tmp_path / "new.db", isolation_level=None, timeout=0)
    database._use_wal(second)

    assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    first.close()
    second.close()


def test_a_transaction_that_sqlite_has_ended_is_not_rolled_back_again(tmp_path):
    opened = database.open_database(tmp_path)
    twice = "INSERT OR ROLLBACK INTO meta (key, value) VALUES (?, ?)"
    with pytest.raises(sqlite3.IntegrityError):
        opened.run_many(twice, [("a", "b"), ("a", "c")])

    assert opened.meta("a") is None
    opened.set_meta("a", "d")
    assert opened.meta("a") == "d"
    opened.close()
