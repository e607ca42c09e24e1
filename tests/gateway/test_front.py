"""The doors are reached directly, and answer exceptions as the framework would."""

import gc

from gateway import server
from gateway.database import StorageUnavailable


async def test_an_exception_behind_the_table_is_answered_as_elsewhere(gateway, client, monkeypatch):
    async def unavailable(*_args, **_more):
        raise StorageUnavailable

    monkeypatch.setattr(gateway.app.state.door, "enter", unavailable)

    answer = await client.get("/api/access/email/messages")

    assert answer.status_code == 503
    assert answer.json()["error"] == "OVERLOADED"


async def test_a_bug_behind_a_door_is_told_without_its_words(gateway, client, monkeypatch):
    async def broken(*_args, **_more):
        raise RuntimeError("a secret")

    monkeypatch.setattr(gateway.app.state.door, "caller", broken)

    for path in ("/api/access/email/messages", "/graphql"):
        method = "POST" if path == "/graphql" else "GET"
        answer = await client.request(method, path, json={"query": "{ accessToken { id } }"})

        assert answer.status_code == 500
        assert answer.json()["error"] == "INTERNAL_ERROR"
        assert "secret" not in answer.text


async def test_other_methods_of_graphql_are_the_frameworks(client):
    answer = await client.put("/graphql", json={})

    assert answer.status_code == 405


def test_the_collector_comes_less_often_once_everything_is_made():
    before = gc.get_threshold()
    try:
        server.settle()

        assert gc.get_threshold() == (20_000, 20, 50)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
