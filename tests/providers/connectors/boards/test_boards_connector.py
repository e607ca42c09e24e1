"""The monday.com connector: responses of every form, and documents against the schemas."""

import asyncio
import itertools
import json

import pytest
from graphql import build_schema, parse, validate
from paths import SHARED

from providers import failures
from providers.connectors.boards import documents
from providers.connectors.boards.failures import ColumnRefused, classify
from providers.connectors.boards.tasks import BoardTasks
from providers.connectors.boards.writing import BoardLocks
from providers.http.client import Origins, Upstream
from providers.http.response import Response
from providers.ports.tasks import (
    BoardQuery,
    ItemQuery,
    ItemVisibility,
    NewItem,
    StalePosition,
    TaskPosition,
    TaskTarget,
)
from sandbox.boards import schema as sandbox_schema

BASE = "http://boards.example"
WHOLE = SHARED / "reference/schemas/monday-2026-10.graphql"
EVERYTHING = frozenset(
    {
        "group_id",
        "group_name",
        "name",
        "status",
        "assignees",
        "due_date",
        "priority",
        "labels",
        "description",
        "created_at",
        "updated_at",
        "web_url",
        "comments",
        "sub_items",
        "column_values",
    }
)


class PreparedUpstream:
    """An upstream with prepared responses that records the requests."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.requests = []

    async def __call__(self, scope, receive, send):
        body = (await receive())["body"]
        self.requests.append(json.loads(body))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if callable(answer):
            answer = await answer(self.requests[-1])
        status, headers, content = answer if isinstance(answer, tuple) else (200, {}, answer)
        raw = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        sent = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": sent})
        await send({"type": "http.response.body", "body": raw})


def opened(*answers):
    server = PreparedUpstream(*answers)
    origins = Origins(apps={BASE: server})
    upstream = Upstream(origins, BASE, connection=1, classify=classify)
    return BoardTasks(upstream, BoardLocks()), server


def error(code, message="no", **extensions):
    path = extensions.pop("path", None)
    members = {"message": message, "extensions": {"code": code, **extensions}}
    return {**members, "path": path} if path else members


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        pytest.param({"errors": [error("InvalidBoardIdException")]}, "Missing", id="no board"),
        pytest.param({"errors": [error("ResourceNotFoundException")]}, "Missing", id="nothing"),
        pytest.param({"errors": [error("USER_ACCESS_DENIED")]}, "Refused", id="denied"),
        pytest.param({"errors": [error("x", status_code=403)]}, "Refused", id="403 inside"),
        pytest.param({"errors": [error("x", status_code=404)]}, "Refused", id="404 inside"),
        pytest.param({"errors": ["Not Authenticated"]}, "NeedsReauth", id="a text"),
        pytest.param({"error_message": "Not Authenticated"}, "NeedsReauth", id="a message alone"),
        pytest.param((401, {}, {"errors": ["Not Authenticated"]}), "NeedsReauth", id="401"),
        pytest.param((403, {}, ""), "Refused", id="403 without a body"),
        pytest.param((400, {}, {"errors": [error("ParseError")]}), "Refused", id="400"),
        pytest.param((500, {}, {"errors": [error("INTERNAL_SERVER_ERROR")]}), "Broken", id="500"),
        pytest.param({"errors": [error("INTERNAL_SERVER_ERROR")]}, "Broken", id="500 inside"),
        pytest.param({"data": None, "errors": [error("Resource is currently locked")]}, "Locked",
                     id="locked"),
        pytest.param({"errors": [7, None, {"message": None}]}, "Refused", id="odd errors"),
        pytest.param({"errors": "no"}, "Broken", id="errors that are no list"),
        pytest.param("[]", "Broken", id="a list"),
        pytest.param('{"data"', "Broken", id="half an answer"),
        pytest.param({"data": {"items": 5}}, "Broken", id="data of another shape"),
        pytest.param({"data": {"items": []}}, "Missing", id="an empty list"),
        pytest.param({"data": {"items": [None]}}, "Missing", id="a list of nothing"),
        pytest.param({"data": None}, "Missing", id="no data"),
        pytest.param(
            {"data": {"items": [{"id": "1", "state": "deleted"}]}}, "Missing", id="deleted"
        ),
        pytest.param(
            {"data": {"items": [{"id": "1"}]}, "errors": [error("x", path=["items", 0])]},
            "Refused",
            id="data beside an error",
        ),
    ],
)  # fmt: skip
async def test_error_responses_become_failures(answer, kind):
    tasks, _ = opened(answer)

    with pytest.raises(getattr(failures, kind)) as raised:
        await tasks.item("1", visibility=ItemVisibility(projection=frozenset({"name"})))

    assert type(raised.value).__name__ == kind


@pytest.mark.parametrize(
    ("answer", "wait"),
    [
        pytest.param({"errors": [error("RateLimitExceeded", retry_in_seconds=4)]}, 4, id="named"),
        pytest.param(
            {"errors": [error("ComplexityException", "reset in 17 seconds")]}, 17, id="in words"
        ),
        pytest.param(
            {"error_code": "ComplexityException", "error_message": "… reset in 9 seconds"},
            9,
            id="at the top",
        ),
        pytest.param(
            {"errors": ["Budget exhausted, reset in 8 seconds"], "status_code": 429,
             "error_code": "complexityBudgetExhausted"},
            8,
            id="a text and a code",
        ),
        pytest.param(
            (200, {"retry-after": "3"}, {"errors": [error("x", status_code=429)]}), 3, id="header"
        ),
        pytest.param({"errors": [error("RateLimitExceeded")]}, 1, id="no time"),
        pytest.param((429, {"retry-after": "6"}, ""), 6, id="429"),
        pytest.param((429, {}, {"errors": [error("RATE_LIMIT_EXCEEDED")]}), 1, id="429, no time"),
        pytest.param((429, {}, {"errors": [error("maxConcurrencyExceeded", retry_in_seconds=2)]}),
                     2, id="429 with words"),
        pytest.param(
            {"errors": [error("x"), error("RateLimitExceeded", retry_in_seconds=5)]},
            5,
            id="a throttle behind another error",
        ),
    ],
)  # fmt: skip
async def test_throttles_have_a_waiting_time(answer, wait):
    tasks, server = opened(answer)
    visibility = ItemVisibility(projection=frozenset({"name"}))

    for _ in range(2):
        with pytest.raises(failures.Throttled) as raised:
            await tasks.item("1", visibility=visibility)
        assert raised.value.retry_after == wait

    assert len(server.requests) == 1  # the second call did not go out


async def test_columns_are_set_one_by_one_only_after_a_refused_value():
    target = TaskTarget(item_id="1", boards=("2",), home="2")
    refused = {"data": {"a": None}, "errors": [error("ColumnValueException", path=["a"])]}
    both = {"data": {"a0": {"id": "1"}, "a1": None}, "errors": [error("x", path=["a1"])]}

    tasks, server = opened(refused, both)
    with pytest.raises(failures.Refused) as raised:
        await tasks.update(target, {"a": "1", "b": "2"})
    assert not isinstance(raised.value, ColumnRefused)

    gone = error("InvalidColumnIdException", path=["a1"])
    partly = {"data": {"a0": {"id": "1"}, "a1": None}, "errors": [gone]}
    tasks, server = opened(refused, partly)
    assert await tasks.update(target, {"a": "1", "b": "2"}) == ("b",)
    assert server.requests[1]["variables"] == {
        "b": "2",
        "i": "1",
        "v0": '{"a":"1"}',
        "v1": '{"b":"2"}',
    }


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param('{"data"', id="half an answer"),
        pytest.param("[]", id="another shape"),
        pytest.param({"data": {"create_item": None, "create_update": None}}, id="nothing"),
        pytest.param({"data": {"create_item": {}, "create_update": {}}}, id="no id"),
        pytest.param(
            {"data": {"create_item": {"id": {}}, "create_update": {"id": []}}},
            id="an id of another type",
        ),
    ],
)
async def test_a_lost_response_to_a_creation_is_an_unknown_outcome(answer):
    tasks, server = opened(answer)

    with pytest.raises(failures.OutcomeUnknown):
        await tasks.create(NewItem(board_id="2", name="x", fields={}))
    with pytest.raises(failures.OutcomeUnknown):
        await tasks.comment(TaskTarget(item_id="1", boards=("2",), home="2"), "x")

    assert len(server.requests) == 2


async def test_a_failed_creation_created_nothing():
    tasks, server = opened({"errors": [error("INTERNAL_SERVER_ERROR")]})

    with pytest.raises(failures.Broken):
        await tasks.create(NewItem(board_id="2", name="x", fields={}))

    assert len(server.requests) == 1


async def test_an_undecodable_response_to_a_change_is_broken():
    tasks, server = opened('{"data"')

    with pytest.raises(failures.Broken):
        await tasks.update(TaskTarget(item_id="1", boards=("2",), home="2"), {"a": "1"})

    assert len(server.requests) == 1


async def test_writes_to_one_board_wait_for_each_other():
    running, most = 0, 0

    async def slow(_):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running -= 1
        return {"data": {"change_multiple_column_values": {"id": "1"}}}

    tasks, server = opened(slow)
    targets = [TaskTarget(item_id=str(n), boards=("2",), home="2") for n in range(4)]
    await asyncio.gather(*(tasks.update(target, {"a": "1"}) for target in targets))
    assert (most, len(server.requests)) == (1, 4)


@pytest.mark.parametrize("board_id", ["", "x", "1 2", "1)", "-1", "１", "1" * 33, "9/9", "1\n"])
async def test_malformed_ids_cause_no_request(board_id):
    tasks, server = opened({"data": {}})
    visibility = ItemVisibility(projection=EVERYTHING)

    for call in (
        tasks.item(board_id, visibility=visibility),
        tasks.target(board_id),
        tasks.board(board_id, projection=frozenset()),
        tasks.items(board_id, ItemQuery(), after=None, visibility=visibility),
    ):
        with pytest.raises(failures.Missing):
            await call
    listed = await tasks.boards(BoardQuery(only={board_id}), after=None, projection=frozenset())

    assert listed.boards == ()
    assert server.requests == []


async def test_a_listing_of_boards_continues_after_the_last_board():
    def page(first, count, **more):
        boards = [{"id": str(n), "name": f"B{n}", "state": "active", "type": "board", **more}
                  for n in range(first, first + count)]  # fmt: skip
        return {"data": {"boards": boards}}

    tasks, server = opened(page(0, 100), page(100, 3))
    first = await tasks.boards(BoardQuery(limit=101), after=None, projection=frozenset({"name"}))
    assert [board.id for board in first.boards] == [str(n) for n in range(101)]
    assert first.position == TaskPosition(101, "100")

    tasks, server = opened(page(99, 4))  # a board came before: all moved on by one
    rest = await tasks.boards(BoardQuery(), after=first.position, projection=frozenset())
    assert [board.id for board in rest.boards] == ["101", "102"]
    assert server.requests[0]["variables"]["p"] == 2
    assert rest.position is None


async def test_a_page_is_empty_after_five_pages_without_matches():
    full = {
        "data": {"boards": [{"id": "1", "name": "x", "state": "active", "type": "board"}] * 100}
    }
    tasks, server = opened(full)

    page = await tasks.boards(BoardQuery(text="nothing"), after=None, projection=frozenset())

    assert page.boards == ()
    assert page.position == TaskPosition(500, "1")
    assert len(server.requests) == 5


def _documents():
    """Yield every document that the connector can send."""
    yield from (
        documents.BOARD_COLUMNS,
        documents.TARGET,
        documents.PLACE,
        documents.PROBE,
        documents.CREATE,
        documents.CHANGE,
        documents.DELETE,
        documents.COMMENT,
        documents.FIRST_IDS,
        documents.NEXT_IDS,
        documents.changes(3),
    )
    parts = frozenset({"name", "description", "workspace_id", "workspace_name", "folder_id",
                       "folder_name", "web_url", "groups", "columns", "tags"})  # fmt: skip
    for projection in (frozenset(), parts, *(frozenset({part}) for part in parts)):
        yield documents.boards(projection)
        yield documents.boards_by_id(projection)
    single = [(frozenset({name}), None, None, False) for name in EVERYTHING]
    mixed = itertools.product(
        (EVERYTHING, frozenset({"sub_items", "status"})),
        (None, ["a"]),
        (None, frozenset("1")),
        (True, False),
    )
    for projection, ids, boards, count in (*single, *mixed, (frozenset(), None, None, True)):
        visibility = ItemVisibility(projection=projection, boards=boards)
        values = documents.ColumnValueSelection(visibility, own=ids, below=ids)
        yield documents.items_by_id(values, visibility)
        yield documents.first_page(values, visibility, count=count)
        yield documents.next_page(values, visibility, count=count)


@pytest.mark.slow
@pytest.mark.parametrize("schema", ["the sandbox's", "the provider's whole"])
def test_every_document_is_valid_against_the_schema(schema):
    if schema == "the sandbox's":
        known = build_schema(sandbox_schema.sdl())
    elif WHOLE.exists():
        known = build_schema(WHOLE.read_text("utf-8"))
    else:
        pytest.skip("the provider's schema is not at hand")

    for document in set(_documents()):
        assert validate(known, parse(document)) == [], document


def test_a_classified_response_keeps_its_error_code():
    body = json.dumps({"errors": [error("InvalidItemIdException")]}).encode()

    assert isinstance(classify(Response(200, {}, body)), failures.Missing)
    assert classify(Response(502, {}, b"<html>")) is None


class ExpiringCursors:
    """A board upstream whose cursors can expire."""

    def __init__(self, ids):
        self.ids = list(ids)
        self.dead = False
        self.requests = []

    async def __call__(self, scope, receive, send):
        request = json.loads((await receive())["body"])
        self.requests.append(request)
        variables, start = request["variables"], 0
        if "next_items_page" in request["query"]:
            start = int(variables["c"].removeprefix("after "))
        ids = self.ids[start : start + variables["n"]]
        end = start + len(ids)
        page = {
            "cursor": f"after {end}" if end < len(self.ids) else None,
            "items": [{"id": item_id, "name": f"I{item_id}"} for item_id in ids],
        }
        if "next_items_page" in request["query"]:
            data = {"next_items_page": page, "boards": [{"id": "2", "items_count": 9}]}
        else:
            data = {"boards": [{"id": "2", "type": "board", "items_page": page}]}
        body = {"data": data}
        if self.dead and "next_items_page" in request["query"]:
            self.dead = False
            body = {"data": None, "errors": [error("CursorExpiredError")]}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def _listed(server, after=None, limit=4):
    upstream = Upstream(Origins(apps={BASE: server}), BASE, connection=1, classify=classify)
    page = await BoardTasks(upstream, BoardLocks()).items(
        "2",
        ItemQuery(limit=limit),
        after=after,
        visibility=ItemVisibility(projection=frozenset({"name"})),
    )
    return [item.id for item in page.items], page.position


@pytest.mark.parametrize("death", ["upstream says so", "it is an hour old", "none was stored"])
@pytest.mark.parametrize(
    ("now", "rest"),
    [
        pytest.param("123456789", "56789", id="nothing changed"),
        pytest.param("X123456789", "56789", id="something came before"),
        pytest.param("13456789", "56789", id="something before is gone"),
        pytest.param("12356789", "56789", id="the last one is gone"),
        pytest.param("1234", "", id="what followed is gone"),
        pytest.param("", "", id="all is gone"),
    ],
)
async def test_an_expired_cursor_loses_no_item(death, now, rest):
    server = ExpiringCursors("123456789")
    seen, position = await _listed(server)
    assert (seen, position[:3]) == (["1", "2", "3", "4"], (4, "4", "after 4"))

    server.ids = list(now)
    server.dead = death == "upstream says so"
    if death == "it is an hour old":
        position = position._replace(at=position.at - 3_600)
    if death == "none was stored":
        position = position._replace(cursor=None)
    ids, _ = await _listed(server, position, limit=9)

    assert ids == list(rest)


@pytest.mark.parametrize("change", ["nothing", "something came before", "the last one is gone"])
async def test_a_lost_position_is_found_again_in_ten_calls(change):
    count = 4_000
    ids = [str(number) for number in range(1, count + 500)]
    server = ExpiringCursors(ids)
    lost = TaskPosition(count, str(count), None, 0)
    if change == "something came before":
        server.ids.insert(0, "X")
    if change == "the last one is gone":
        server.ids.remove(str(count))
    seen, _ = await _listed(server, lost)

    assert seen == [str(count + number) for number in range(1, 5)]
    assert len(server.requests) <= 11  # the last one reads the page


async def test_a_lost_position_too_far_on_is_refused_without_a_call():
    server = ExpiringCursors(["1"])
    with pytest.raises(StalePosition):
        await _listed(server, TaskPosition(4_001, "4001", None, 0))
    assert server.requests == []
