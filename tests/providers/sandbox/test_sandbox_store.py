"""The store of the sandbox is opened by several processes."""

import sqlite3

from providers.sandbox import store


def test_a_switch_to_wal_waits_for_others(tmp_path, monkeypatch):
    first = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    first.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr(store.time, "sleep", lambda _seconds: first.execute("ROLLBACK"))
    second = sqlite3.connect(tmp_path / "new.db", isolation_level=None, timeout=0)
    store._use_wal(second)

    assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    first.close()
    second.close()
