"""`extensions.access.cost`: what a request cost its caller, and nothing about anybody else."""

import asyncio

import calendar_world
import pytest
import whole_world

WHOLE = "{ emails(limit: 2) { emails { id } } taskProviders { status } collabSites { hasMore } }"
EMAILS = "{ emails(limit: 2) { emails { id subject } } }"
EVENTS = "{ calendarEvents { events { id } } }"
COST = {"prefer": "cost"}


@pytest.fixture(scope="module")
def whole(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("cost") / "world") as whole:
        yield whole


def ask(whole, query, headers=COST, **settings):
    token = whole.runner.run(whole.world.token({**whole_world.SETTINGS, **settings}))
    return again(whole, token, query, headers)


def again(whole, token, query, headers=COST):
    headers = {**headers, "authorization": f"Bearer {token}"}
    return whole.call("POST", "/graphql", json={"query": query}, headers=headers)[0]


def connections(whole, kind):
    """Return the ids of the connections that the token of `ask` reaches."""
    answer = ask(whole, "{ accessToken { connections { id kind } } }", headers={})
    listed = answer.json()["data"]["accessToken"]["connections"]
    return [row["id"] for row in listed if row["kind"] == kind]


def upstream_calls(whole):
    """Return how many calls were made; the sandbox records the parts of a batch besides."""
    parts = "/gmail/v1/users/me/messages/"
    return sum(
        not call["path"].startswith(parts)
        for wire in whole.world.sandbox.upstreams.values()
        for call in wire.calls
    )


def counted(answer):
    """Return the calls by connection; the times, which are never the same, are numbers."""
    cost = answer.json()["extensions"]["access"]["cost"]
    assert list(cost) == ["charged", "remaining", "upstreamCalls", "milliseconds"]
    assert isinstance(cost["milliseconds"], int)
    for row in cost["upstreamCalls"]:
        assert list(row) == ["connectionId", "calls", "milliseconds"]
        assert (row["calls"] is None) == (row["milliseconds"] is None)
        assert row["milliseconds"] is None or 0 <= row["milliseconds"] <= cost["milliseconds"] + 1
    return {row["connectionId"]: row["calls"] for row in cost["upstreamCalls"]}


def test_the_calls_are_counted_by_connection(whole):
    first, second = connections(whole, "email")
    (content,) = connections(whole, "collab")
    ask(whole, EMAILS)  # labels and folders of the accounts are known from here on
    before = upstream_calls(whole)
    answer = ask(whole, EMAILS)
    made = upstream_calls(whole) - before

    assert counted(answer) == {first: 2, second: 1}
    assert made == 3
    cost = answer.json()["extensions"]["access"]["cost"]
    assert cost["charged"] == 1
    assert str(cost["remaining"]) == answer.headers["x-ratelimit-remaining"]
    assert answer.headers["preference-applied"] == "cost"
    mixed = ask(whole, WHOLE)
    assert mixed.json()["extensions"]["access"]["cost"]["charged"] == 3
    assert counted(mixed)[content] is None
    assert counted(mixed)[first] == 2


def test_the_cost_is_reported_on_request_alone(whole):
    answer = ask(whole, EMAILS, headers={})

    assert answer.json()["extensions"] == {"access": {"hiddenFields": {}}}
    assert "preference-applied" not in answer.headers
    own = ask(whole, "{ accessToken { name } }", headers={})
    assert list(own.json()) == ["data"]


def test_a_document_without_a_surface_makes_no_calls(whole):
    access = ask(whole, "{ accessToken { name } }").json()["extensions"]["access"]

    assert (access["hiddenFields"], access["cost"]["upstreamCalls"]) == ({}, [])
    assert access["cost"]["charged"] == 1


@pytest.mark.slow
def test_what_fills_a_cache_of_all_tokens_is_not_counted(world_template, tmp_path):
    """The first token that asks makes more calls than the second; neither learns of it."""
    with whole_world.opened(world_template, tmp_path / "world") as whole:
        query = "{ emails(limit: 2) { emails { id labels } } }"
        for connection in connections(whole, "email"):
            whole.world.gateway.services.accounts.forget(connection)
        before = upstream_calls(whole)
        first = counted(ask(whole, query))
        cold = upstream_calls(whole) - before
        before = upstream_calls(whole)
        second = counted(ask(whole, query))
        warm = upstream_calls(whole) - before

    assert first == second
    assert cold > warm == sum(second.values())


def test_a_surface_with_hidden_content_has_no_counts(whole):
    for settings in ({"timeframePastDays": 9}, {"allowedCalendarIds": []}):
        answer = ask(whole, EVENTS, **settings)
        assert set(counted(answer).values()) == {None}
    assert all(calls is not None for calls in counted(ask(whole, EVENTS)).values())
    boards = ask(whole, "{ taskBoards { hasMore } }", taskBoards=[])
    assert set(counted(boards).values()) == {None}


def test_worlds_that_differ_in_hidden_events_cost_the_same(whole):
    def shown():
        answer = ask(whole, EVENTS, timeframePastDays=1)
        access = answer.json()["extensions"]["access"]
        return answer.json()["data"], counted(answer), access["cost"]["charged"]

    before = shown()
    meeting = calendar_world.meeting(
        calendar_world.at(-30, "09:00"), calendar_world.at(-30, "10:00"), "Long ago"
    )
    whole.agendas.plant("work", "long ago", meeting)
    assert shown() == before


def test_what_is_left_is_that_of_the_header(whole):
    answer = ask(whole, EMAILS, quota={"perHour": 5})

    cost = answer.json()["extensions"]["access"]["cost"]
    assert str(cost["remaining"]) == answer.headers["x-ratelimit-remaining"]


def test_rest_answers_are_as_ever(whole):
    path = whole.url("/api/access/email/messages/{emailId}")
    plain, asked = (whole.call("GET", path, headers=headers)[0] for headers in ({}, COST))

    assert asked.content == plain.content
    assert "preference-applied" not in asked.headers


def test_a_repeated_answer_has_the_cost_of_the_first_run(whole):
    query = 'mutation { sendEmail(input: {to: [{email: "bo@work.example"}], subject: "s", body: "b"'
    query += "}) { success } }"
    headers = {**COST, "idempotency-key": "cost-1"}
    token = whole.runner.run(whole.world.token(whole_world.SETTINGS))
    first, second = (again(whole, token, query, headers) for _ in range(2))

    assert second.headers["idempotent-replayed"] == "true"
    assert second.content == first.content
    assert counted(first)


def test_requests_side_by_side_are_counted_apart(whole):
    token = whole.runner.run(whole.world.token(whole_world.SETTINGS))

    async def both():
        async with whole.world.client(token) as client:
            requests = [
                client.post("/graphql", json={"query": EMAILS}, headers=COST) for _ in range(2)
            ]
            return await asyncio.gather(*requests)

    again(whole, token, EMAILS)
    first, second = whole.runner.run(both())
    assert counted(first) == counted(second)
    assert list(counted(first).values()) == [2, 1]
