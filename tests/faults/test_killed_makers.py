"""A gateway that is killed before it makes something, or after: over sockets, one kill per case."""

import sqlite3
import sys
import time
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import content_processes

ROW = {"Title": "Mine", "Length": 7, "Paid": True, "Until": "2026-03-01", "State": "Let"}
CASES = (
    ("after", "file"),
    ("after", "large file"),
    ("after", "folder"),
    ("after", "list item"),
    ("before", "file"),
    ("before", "list item"),
)


def make(both, client, kind, name):
    """Create a resource; the response never arrives."""
    if kind == "folder":
        return client.post("/folders", json={"name": name, "parentFolderId": both.ids["boats"]})
    if kind == "list item":
        body = {"fields": {**ROW, "Title": name}}
        return client.post(items_path(both), json=body)
    size = 9_000_000 if kind == "large file" else 100_000
    params = {"fileName": name, "folderId": both.ids["boats"]}
    return client.post("/files/upload", params=params, content=b"x" * size)


def items_path(both):
    return f"/sites/{both.ids['yard']}/lists/{both.ids['berths']}/items"


def intents(both):
    with sqlite3.connect(both.folder / "gateway" / "gateway.db") as store:
        return store.execute("SELECT count(*) FROM rule_intents").fetchone()[0]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    with content_processes.opened(tmp_path_factory.mktemp("killed")) as processes:
        processes.start()
        processes.prepare()
        yield processes


@pytest.mark.slow
def test_a_created_resource_gets_its_rule_after_the_process_was_killed(both):
    """
    Each case has a token of its own, and meets a process that kills itself.

    The mending of what earlier cases left begins with the next start, in the same process that
    is killed by the next case.
    """
    reach = (
        ("folder", both.ids["boats"]),
        ("file_id", both.ids["boats"]),
        ("list_id", both.ids["berths"]),
    )
    tokens = {case: both.token(*reach) for case in CASES}
    both.stop()
    for dies, kind in CASES:
        both.start(dies)
        with both.client(tokens[dies, kind][1]) as client, pytest.raises(httpx.TransportError):
            make(both, client, kind, f"{kind} {dies}")
        assert both.died() == -9
    made = set(both.names("boats"))
    assert {"file after", "large file after", "folder after"} <= made
    assert "file before" not in made

    both.start()
    until = time.monotonic() + 60
    while intents(both) and time.monotonic() < until:
        time.sleep(0.1)
    assert intents(both) == 0
    for (dies, kind), (token_id, text) in tokens.items():
        rules = both.own_rules(token_id)
        if dies == "before":
            assert rules == [], kind
            continue
        (rule,) = rules
        left, _, right = rule["pattern"].rpartition(":")
        with both.client(text) as client:
            if kind == "list item":
                read = client.get(f"{items_path(both)}/{both.ids['berths']}:item:{right}").json()
            else:
                read = client.get(f"/files/collab:drive:{left}:item:{right}").json()["file"]
        assert read["name"] == f"{kind} {dies}"
