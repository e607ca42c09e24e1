"""The feed of changes on calendars: rows, cursors, masks, rules, failures."""

import random

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import BO, DAN, at, meeting
from change_feed import change, make_token, plant, set_token
from change_histories import check_history
from feed_client import Feed
from run_sizes import times

from sandbox.calendar.records import from_instant

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("feed")) as agendas:
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    shared_calendars.clear()
    yield shared_calendars
    shared_calendars.clear()


def feed_of(agendas, token):
    feed = Feed(lambda: agendas.client(token))
    feed.token = token
    return feed


@pytest_asyncio.fixture(loop_scope="module")
async def feed(agendas):
    return feed_of(agendas, await agendas.token())


def delete(agendas, name):
    agendas.world.sandbox.state.calendars.delete(agendas.events.pop(name))


async def listed(agendas, token):
    """Return the events of the range of a feed, by their ids."""
    day = calendar_world.day
    response = await agendas.get(
        "/events", token, from_=day(-30).isoformat(), to=day(365).isoformat(), limit=1000
    )
    assert response.status_code == 200, response.text
    return {event["id"]: event for event in response.json()["events"]}


async def id_of(agendas, title):
    (name,) = [
        name
        for name, event in (await listed(agendas, await agendas.token())).items()
        if event["title"] == title
    ]
    return name


async def test_a_feed_begins_without_rows_and_says_what_it_follows(agendas, feed):
    agendas.plant("work", "talk", meeting(at(1, "09:00"), at(1, "10:00"), "Talk"))

    assert await feed.pull() == []

    answer = feed.answer
    assert {name: value for name, value in answer.items() if name not in {"cursor", "upTo"}} == {
        "changes": [],
        "more": False,
    }
    first, second = answer["upTo"]
    assert [first["connectionId"], second["connectionId"]] == list(agendas.connections.values())
    assert first == {
        "connectionId": agendas.connections["PROVIDER_A"],
        "surface": "calendar",
        "at": first["at"],
        "code": None,
        "unfollowed": [],
        "from": calendar_world.text(calendar_world.day(-30)),
        "to": calendar_world.text(calendar_world.day(365)),
    }


async def test_rows_name_what_came_what_changed_and_what_went(agendas, feed):
    plant(agendas, "talk")
    plant(agendas, "lunch", "Lunch", "office", days=2)
    await feed.pull()
    talk, lunch = await id_of(agendas, "Talk"), await id_of(agendas, "Lunch")

    plant(agendas, "walk", "Walk", "home", days=3)
    change(agendas, "talk", title="Speech", attendees=(BO,))
    delete(agendas, "lunch")

    walk = await id_of(agendas, "Walk")
    assert sorted(await feed.pull()) == sorted(
        [("created", walk, ()), ("changed", talk, ("title", "attendees")), ("gone", lunch, ())]
    )
    assert await feed.pull() == []
    assert feed.answer["more"] is False


async def test_the_same_cursor_tells_the_same_rows_again(agendas, feed):
    plant(agendas, "talk")
    await feed.pull()
    begin = feed.cursor
    change(agendas, "talk", title="Speech")

    first = await feed.pull(begin)
    ids = [row["id"] for row in feed.answer["changes"]]
    after = feed.cursor
    assert await feed.pull(begin) == first
    assert [row["id"] for row in feed.answer["changes"]] == ids
    assert await feed.pull(after) == []

    change(agendas, "talk", title="Lecture")
    assert await feed.pull(begin) == first
    assert [row["id"] for row in feed.answer["changes"]] != ids


async def test_a_change_of_hidden_members_alone_is_not_told(agendas):
    token = await agendas.token(visibleCalendarFields=["times", "status"])
    plant(agendas, "talk")
    feed = feed_of(agendas, token)
    await feed.pull()
    lengths, calls = set(), []
    for number in range(4):
        if number % 2:
            change(agendas, "talk", title=f"Speech {number}", attendees=(BO, DAN), location="Hall")
        agendas.world.forget_calls()
        assert await feed.pull() == []
        calls.append([(call["method"], call["path"]) for call in agendas.calls()])
        lengths.add(len(feed.cursor))

    assert len(lengths) == 1
    assert calls[0] == calls[1] == calls[2] == calls[3] != []

    change(agendas, "talk", start=from_instant(at(2, "09:00")), end=from_instant(at(2, "10:00")))
    talk = next(iter(await listed(agendas, token)))
    assert await feed.pull() == [("changed", talk, ("startUtc", "endUtc"))]


async def test_a_blocked_calendar_looks_deleted_and_an_opened_one_appears(agendas):
    ids = await agendas.ids()
    token = await make_token(agendas, allowedCalendarIds=[ids["Me"], ids["Home"]])
    plant(agendas, "talk")
    plant(agendas, "walk", "Walk", "home")
    plant(agendas, "lunch", "Lunch", "office")
    feed = feed_of(agendas, token["token"])
    await feed.pull()
    names = {title: await id_of(agendas, title) for title in ("Talk", "Walk", "Lunch")}

    await set_token(agendas, token, allowedCalendarIds=[ids["Me"], ids["Calendar"]])
    delete(agendas, "talk")

    assert sorted(await feed.pull()) == sorted(
        [("gone", names["Talk"], ()), ("gone", names["Walk"], ()), ("appeared", names["Lunch"], ())]
    )
    assert await feed.pull() == []

    delete(agendas, "walk")  # of a calendar that the token may not see
    assert await feed.pull() == []


async def test_other_masks_begin_with_a_resync_of_each_account(agendas):
    token = await make_token(agendas)
    plant(agendas, "talk")
    feed = feed_of(agendas, token["token"])
    await feed.pull()

    await set_token(agendas, token, visibleCalendarFields=["times", "title"])
    change(agendas, "talk", title="Speech")

    assert await feed.pull() == [("resync", None, ()), ("resync", None, ())]
    connections = {row["connectionId"] for row in feed.answer["changes"]}
    assert connections == set(agendas.connections.values())
    assert await feed.pull() == []


async def test_a_connection_that_the_token_may_not_use_any_more_is_resynced_and_left(agendas):
    token = await make_token(agendas)
    plant(agendas, "talk")
    feed = feed_of(agendas, token["token"])
    await feed.pull()
    kept = agendas.connections["PROVIDER_B"]

    await set_token(agendas, token, allowedConnectionIds=[kept])

    assert await feed.pull() == [("resync", None, ())]
    assert feed.answer["changes"][0]["connectionId"] == agendas.connections["PROVIDER_A"]
    assert [entry["connectionId"] for entry in feed.answer["upTo"]] == [kept]


async def test_an_account_that_fails_says_since_when_and_tells_its_rows_later(agendas, feed):
    plant(agendas, "talk")
    plant(agendas, "lunch", "Lunch", "office")
    await feed.pull()
    talk, lunch = await id_of(agendas, "Talk"), await id_of(agendas, "Lunch")
    since = feed.answer["upTo"][0]["at"]
    change(agendas, "talk", title="Speech")
    change(agendas, "lunch", title="Dinner")
    await agendas.world.fail("providerA", kind="503", count=50)

    assert await feed.pull() == [("changed", lunch, ("title",))]
    first, second = feed.answer["upTo"]
    assert (first["code"], first["at"], second["code"]) == ("error", since, None)
    assert len(feed.answer["authWarnings"]) == 2  # one per calendar

    agendas.world.sandbox.upstreams["providerA"].faults.clear()
    agendas.world.gateway.services.accounts.forget(agendas.connections["PROVIDER_A"])
    assert await feed.pull() == [("changed", talk, ("title",))]
    assert [entry["code"] for entry in feed.answer["upTo"]] == [None, None]


async def test_rows_beyond_the_limit_wait_for_the_next_call(agendas, feed):
    await feed.pull()
    for number in range(5):
        plant(agendas, str(number), f"Talk {number}", days=number + 1)

    rows = await feed.pull(limit=2)
    assert (len(rows), feed.answer["more"]) == (2, True)
    waiting = feed.cursor
    agendas.world.forget_calls()
    rows += await feed.pull(limit=2)
    assert agendas.calls() == []
    assert feed.answer["more"] is True
    rows += await feed.drain()

    assert {row[1] for row in rows} == set(await listed(agendas, feed.token))
    assert len(rows) == 5
    assert await feed.pull(waiting, limit=2) == rows[2:4]


async def test_rows_that_waited_are_determined_anew_for_a_narrower_token(agendas):
    token = await make_token(agendas)
    feed = feed_of(agendas, token["token"])
    await feed.pull()
    for number in range(3):
        plant(agendas, str(number), days=number + 1)
    await feed.pull(limit=1)

    await set_token(agendas, token, allowedCalendarIds=[])

    assert await feed.pull() == [("resync", None, ())]
    assert await feed.drain() == []


async def test_a_cursor_that_is_not_kept_resyncs_every_connection(agendas, feed):
    plant(agendas, "talk")
    await feed.pull()
    old = feed.cursor
    for number in range(6):
        change(agendas, "talk", title=f"Talk {number}")
        await feed.pull()

    assert await feed.pull(old) == [("resync", None, ()), ("resync", None, ())]
    assert await feed.pull() == []


@pytest.mark.parametrize("cursor", ["x", "A" * 300, "é" * 40])
async def test_a_damaged_cursor_is_refused(agendas, feed, cursor):
    agendas.world.forget_calls()
    response = await feed.raw(since=cursor)

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_CURSOR"
    assert agendas.calls() == []


async def test_a_cursor_of_another_token_is_refused(agendas, feed):
    await feed.pull()
    other = feed_of(agendas, (await make_token(agendas))["token"])

    response = await other.raw(since=feed.cursor)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_CURSOR")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"limit": "0"}, "INVALID_PARAMETER"),
        ({"limit": "many"}, "INVALID_PARAMETER"),
        ({"surfaces": "letters"}, "INVALID_PARAMETER"),
    ],
)
async def test_bad_parameters_are_refused(agendas, feed, params, code):
    agendas.world.forget_calls()
    response = await feed.raw(**params)

    assert (response.status_code, response.json()["error"]) == (400, code)
    assert agendas.calls() == []


async def test_surfaces_beside_a_cursor_are_refused(feed):
    await feed.pull(surfaces="calendar")
    response = await feed.raw(since=feed.cursor, surfaces="calendar")

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")


async def test_a_surface_that_may_not_be_listed_is_refused_as_its_listing_is(agendas):
    level = {"calendarAccessLevel": "free_busy_only"}
    mail = {"emailAccessEnabled": True, "allowedEmailOperations": ["search_emails"]}
    agendas.world.forget_calls()

    response = await feed_of(agendas, await agendas.token(**level, **mail)).raw(surfaces="calendar")
    assert (response.status_code, response.json()["error"]) == (403, "ACCESS_DENIED")
    response = await feed_of(agendas, await agendas.token(**level)).raw()
    assert (response.status_code, response.json()["error"]) == (422, "EMAIL_NOT_ENABLED")
    assert agendas.calls() == []


async def test_graphql_selects_the_object_below_its_row(agendas, feed):
    await feed.pull()
    plant(agendas, "talk")
    document = (
        "query ($since: String) { changes(since: $since) "
        "{ changes { kind objectId event { title } email { id } } } }"
    )

    body = await agendas.ask(document, feed.token, since=feed.cursor)

    (row,) = body["data"]["changes"]["changes"]
    assert row == {
        "kind": "created",
        "objectId": await id_of(agendas, "Talk"),
        "event": {"title": "Talk"},
        "email": None,
    }


async def test_a_hidden_connection_is_told_by_no_row(agendas):
    fields = ["title", "times", "status"]
    feed = feed_of(agendas, await agendas.token(visibleCalendarFields=fields))
    await feed.pull()
    for number, calendar in enumerate(("work", "office", "home", "club")):
        plant(agendas, calendar, calendar=calendar, days=number + 1)

    rows = await feed.pull()

    assert [row["connectionId"] for row in feed.answer["changes"]] == [None] * 4
    assert [row[1] for row in rows] == sorted(row[1] for row in rows)


TITLES = ("Talk", "Walk", "Lunch")
FIELDS = (["all"], ["times", "title"], ["status"], ["times", "attendees", "location"])


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, times(4)))]
)
async def test_rows_turn_the_listing_of_then_into_the_listing_of_now(agendas, seed):
    """Histories with edits of the token, old cursors and lost answers, against plain listings."""
    rng = random.Random(seed)
    ids, token = await agendas.ids(), await make_token(agendas)

    await check_history(
        feed_of(agendas, token["token"]),
        rng,
        lambda step: happen(agendas, token, ids, rng, step),
        lambda: listed(agendas, token["token"]),
        steps=25,
    )


async def happen(agendas, token, ids, rng, step):
    """Change calendars a little, and sometimes what the token may see."""
    for _ in range(rng.randint(0, 3)):
        names = list(agendas.events)
        what = rng.choice(("plant", "change", "change", "move", "delete"))
        if what == "plant" or not names:
            plant(
                agendas,
                f"{step}-{rng.random()}",
                rng.choice(TITLES),
                rng.choice(("work", "home", "office", "club")),
                days=rng.randint(1, 9),
            )
        elif what == "change":
            member = rng.choice(
                ({"title": rng.choice(TITLES)}, {"attendees": (BO,)}, {"location": "x"})
            )
            change(agendas, rng.choice(names), **member)
        elif what == "move":
            day = rng.choice((1, 2, 40, 500))
            moment = {
                "start": from_instant(at(day, "09:00")),
                "end": from_instant(at(day, "10:00")),
            }
            change(agendas, rng.choice(names), **moment)
        else:
            delete(agendas, rng.choice(names))
    edit = rng.random()
    if edit < 0.15:
        await set_token(agendas, token, visibleCalendarFields=rng.choice(FIELDS))
    elif edit < 0.3:
        allowed = rng.choice((None, rng.sample(list(ids.values()), 2)))
        await set_token(agendas, token, allowedCalendarIds=allowed)
    elif edit < 0.4:
        await set_token(agendas, token, timeframeFutureDays=rng.choice((None, 5, 60)))
