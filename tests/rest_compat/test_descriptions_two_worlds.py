"""
What is told of the API is the same in worlds that differ, and to tokens that differ, out of sight.

Generated requests for shapes, translations and saved documents are made by pairs of tokens that
agree in all that a shape depends on, before and after a change that they may not see.
`TIMES=120` makes 4,800 for each kind of change, four times each:
`TIMES=120 pytest -n 0 -s -m slow -o faulthandler_timeout=7200 PATH`.
"""

from dataclasses import dataclass
from random import Random
from urllib.parse import quote

import edge_world
import generated_edges
import generated_shapes as generated
import graphql
import pytest
import whole_world
import world as worlds
from hidden_differences import MASKS, shown_without, token
from run_sizes import times

from graph import schema
from rest_compat.table import ENDPOINTS

pytestmark = pytest.mark.slow

REQUESTS = times(40)
PER_PAIR = 60  # requests of a pair of tokens
SAVED = 40  # documents, some of which are too costly
TYPES = sorted(name for name in schema.build().type_map if not name.startswith("__"))
VALUES = ("oars", "a@b.example", "2026-11-20", "2026-11-20T12:00:00Z", "true", "0", "7", "%C3%A9,x")
# Of what a token may see, what its operator may narrow without changing what it can use.
NARROWED = {
    "timeframePastDays": 9,
    "taskBoards": [],
    "allowedCalendarIds": [],
    "quota": {"perHour": 100_000},
    "sendMode": "draft",
    "writes": "effect",
}


@dataclass(frozen=True)
class Call:
    """
    A request.

    Attributes:
        is_told: Whether the answer is told to every token that can use the same, without any call
            to a provider.
    """

    method: str
    url: str
    body: object = None
    is_told: bool = True


@pytest.mark.parametrize("case", MASKS)
def test_hidden_differences_change_nothing_that_is_told(world_template, tmp_path, case):
    change, hidden = MASKS[case]
    random = Random(case)
    with whole_world.opened(world_template, tmp_path / "two") as world:
        ids = edge_world.fill(world)
        resources = tuple(generated.resources_by_kind(world).values())
        whole = token(world, {})
        saved = [
            name
            for number in range(SAVED)
            if (name := save(world, random, ids, number))
            and ask(world, whole, Call("GET", f"/api/saved/{name}"))[0] == 200
        ]
        pairs, calls = [], []
        for _ in range(-(-REQUESTS // PER_PAIR)):
            pairs.append(pair(world, random, hidden, resources))
            calls.append([request(random, ids, saved) for _ in range(PER_PAIR)])
        before = [answers(world, *both) for both in zip(pairs, calls, strict=True)]
        seen = [ask(world, whole, Call("GET", f"/api/saved/{name}")) for name in saved]

        change(world)

        after = [answers(world, *both) for both in zip(pairs, calls, strict=True)]
        changed = [ask(world, whole, Call("GET", f"/api/saved/{name}")) for name in saved]

    flat = zip(sum(calls, []), sum(before, []), sum(after, []), strict=True)  # noqa: RUF017
    statuses = []
    for call, expected, actual in flat:
        assert actual == expected, call
        if call.is_told:
            assert expected[0] == expected[1], call
        statuses.append(expected[0][0])
    assert statuses.count(200) > len(statuses) / 2
    assert seen != changed  # where all is visible
    assert len({answer[0][-1] for answer in before if answer}) > len(pairs) / 2  # pairs differ
    print(f"{len(statuses)} requests, {statuses.count(200)} answered")  # noqa: T201


def pair(world, random, hidden, resources):
    """Make two tokens that can use the same, on other accounts, with other scopes and rules."""
    visible = shown_without(hidden)
    own = generated.settings(random)
    own |= {name: [word for word in own[name] if word in words] for name, words in visible.items()}
    first = world.runner.run(world.world.token(own, resources=(worlds.MAIN,)))
    other = {**own, **{name: NARROWED[name] for name in NARROWED if random.random() < 0.6}}
    second = world.runner.run(world.world.token(other, resources=resources, name="another"))
    return first, second


def save(world, random, ids, number):
    """Save a generated document; return its name, or None when it is too costly."""
    text = generated_edges.document(random, ids, lists=1).removeprefix("{ d0: ")
    name = f"generated{number}"
    body = {"document": f"{{ {text}", "method": "GET", "path": f"/api/saved/{name}"}
    saved = world.call("PUT", f"/api/documents/{name}", json=body)[0]
    return name if saved.status_code == 200 else None


def request(random, ids, saved):
    """Generate a request."""
    kind = random.choice(["type", "sdl", "openapi", "of", "of", "of", "prefer", "saved"])
    match kind:
        case "type":
            return Call("POST", "/graphql", {"query": _introspection(random)})
        case "sdl":
            return Call("GET", "/api/access/schema.graphql")
        case "openapi":
            return Call("GET", "/api/access/openapi.json")
        case "saved":
            return Call("GET", f"/api/saved/{random.choice(saved)}", is_told=False)
    row = random.choice(ENDPOINTS)
    url = _url(row, random, ids)
    if kind == "prefer" and row.method == "GET":
        return Call("GET", url, {"prefer": "graphql"})
    named = f"method={row.method}&path={quote(url, safe='')}"
    return Call("GET", f"/api/access/graphql-of?{named}")


def _introspection(random):
    if random.random() < 0.2:
        return graphql.get_introspection_query(descriptions=random.random() < 0.5)
    fields = (
        "kind description fields(includeDeprecated: true) { name description"
        " args { name description defaultValue } type { name kind ofType { name } } }"
        " inputFields { name } enumValues { name }"
    )
    return f'{{ __type(name: "{random.choice(TYPES)}") {{ {fields} }} }}'


def _url(row, random, ids):
    """Fill the path of a row with ids of the world, and its query at random."""
    names = [part[1:-1] for part in row.path.split("/") if part.startswith("{")]
    path = row.path.format(**{name: ids.get(name, "7") for name in names})
    wanted = ("q", "from", "to", "limit", "name", "email", "folderId", "unread", "orderBy", "odd")
    pairs = [f"{name}={random.choice(VALUES)}" for name in wanted if random.random() < 0.25]
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def answers(world, secrets, calls):
    """Make calls with both tokens; return status and bytes of each, and the first's alone."""
    answers = []
    for call in calls:
        before = world.upstream_calls()
        both = [ask(world, secret, call) for secret in (secrets if call.is_told else secrets[:1])]
        if call.is_told:
            assert world.upstream_calls() == before, call
        answers.append(both)
    return answers


def ask(world, secret, call):
    return world.runner.run(_ask(world, secret, call))


async def _ask(world, secret, call):
    is_body = call.method == "POST"
    more = {"json": call.body} if is_body else {"headers": call.body or {}}
    async with world.world.client(secret) as client:
        client.headers["x-request-id"] = "same"
        response = await client.request(call.method, call.url, **more)
    return response.status_code, response.content
