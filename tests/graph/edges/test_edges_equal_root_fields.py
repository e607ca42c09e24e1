"""
Every edge returns exactly what its root field returns with the same arguments.

Three generated tokens (settings, masks, rules) are compared over the whole world, by edges
of objects in lists and of objects that are read by their ids. 50,000 pairs take 80 tokens and a
quarter of an hour: `TIMES=80 pytest -n 0 -s -m slow -o faulthandler_timeout=3600 PATH`.
"""

from collections import Counter
from random import Random

import edge_world
import pytest
import whole_world
from edge_documents import (
    PARENTS,
    arguments_of,
    documents_by_id,
    fact_documents,
    filled,
    followed_path,
    followed_value,
    list_documents,
    options_for,
    root_documents,
)
from run_sizes import times

from graph import edge_table
from policy.vocabulary import (
    CalendarAccessLevel,
    CalendarField,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    TaskField,
    TaskOp,
)

TOKENS = times(1)
# The rows of `Change` come from an earlier cursor: see tests/rest_compat/changes.
EDGES = [edge for edge in edge_table.EDGES if edge.owner != "Change"]
TOO_MANY_REQUESTS = 429


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("edges")) as world:
        yield world


@pytest.fixture(scope="module")
def ids(world):
    return edge_world.fill(world)


def test_every_type_with_edges_is_compared():
    assert {edge.owner for edge in EDGES} == set(PARENTS)


@pytest.mark.slow
def test_edges_return_what_their_root_fields_return(world, ids):
    facts = _facts(Token(world, 0), ids)
    compared = Counter()
    for number in range(TOKENS):
        token = Token(world, number)
        for edge in EDGES:
            compared[edge.coordinate] += _compare(token, edge, facts[edge.owner], ids)

    print(f"{compared.total()} pairs: {dict(compared)}")  # noqa: T201 - shown with -s
    assert set(+compared) == {edge.coordinate for edge in EDGES}


class Token:
    """A generated token; number 0 may do everything."""

    def __init__(self, world, number):
        self.number = number
        self._world = world
        random = Random(f"token {number}")
        settings = {} if number == 0 else _settings(random)
        rules = [] if number in {0, 1} else _rules(random, world)
        self.secret = world.runner.run(_create(world.world, settings, rules))

    def ask(self, text):
        return self._world.runner.run(self._ask(text))

    async def _ask(self, text):
        async with self._world.world.client(self.secret) as client:
            response = await client.post("/graphql", json={"query": text})
        assert response.status_code == 200, response.text
        body = response.json()
        # What is throttled is not compared: it is null on one side, by chance.
        statuses = {error["extensions"]["httpStatus"] for error in body.get("errors", ())}
        assert max(statuses, default=200) < TOO_MANY_REQUESTS, body["errors"]
        return body


async def _create(world, settings, rules):
    body = {**whole_world.SETTINGS, **settings}
    token = await world.token(body)
    listed = await world.admin.get("/api/access-tokens", params={"limit": 200})
    token_id = max(entry["id"] for entry in listed.json()["tokens"])
    path = f"/api/access-tokens/{token_id}/collab-rules"
    response = await world.admin.put(path, json={"rules": rules})
    assert response.status_code == 200, response.text
    return token


def _settings(random):
    def some(words, share):
        return [str(word) for word in words if random.random() < share]

    return {
        "allowedEmailOperations": some(EmailOp, 0.8),
        "allowedTaskOperations": some(TaskOp, 0.8),
        "allowedCollabOperations": some(CollabOp, 0.85),
        "calendarAccessLevel": random.choice(list(CalendarAccessLevel)),
        "visibleCalendarFields": some(CalendarField, 0.8),
        "visibleEmailFields": some(EmailField, 0.8),
        "visibleTaskFields": some(TaskField, 0.8),
        "visibleCollabFields": some(CollabField, 0.85),
        "maskMode": random.choice(["strict", "basic"]),
        "collabAllowAllDefault": random.random() < 0.7,
    }


def _rules(random, world):
    parameters = world.parameters
    patterns = [
        ("site_id", parameters["siteId"]),
        ("file_id", parameters["fileId"]),
        ("list_id", parameters["listId"]),
        ("mime_type", "text/*"),
    ]
    return [
        {"ruleType": kind, "pattern": pattern, "action": random.choice(["allow", "block"])}
        for kind, pattern in patterns
        if random.random() < 0.5
    ]


def _facts(reference, ids):
    """Return the objects of each type by their ids, as a token sees them that may see all."""
    facts = {}
    for owner in PARENTS:
        facts[owner] = {}
        for document in fact_documents(owner, ids):
            objects = document.objects(reference.ask(document.text)["data"])
            facts[owner] |= {entry["id"]: entry for entry in objects.values()}
    return facts


def _compare(token, edge, facts, ids):
    """Compare an edge of every object with its root field; return the number of pairs."""
    choice = Random(f"{token.number} {edge.coordinate}").choice(options_for(edge))
    options = filled(choice, ids)
    documents = [*list_documents(edge, options, ids), *documents_by_id(edge, options, facts)]
    pairs = [pair for document in documents for pair in _followed(token, edge, document, facts)]
    expected = _roots(token, edge, options, [arguments for arguments, _, _ in pairs])
    for arguments, seen, is_hidden in pairs:
        case = edge.coordinate, options, token.number, arguments
        if is_hidden:
            assert seen == (None, set()), case
        elif arguments is None:
            assert seen[0] is None, case
            assert {code for code, *_ in seen[1]} <= {"OPERATION_NOT_ALLOWED"}, case
        else:
            assert seen == expected[_key(arguments)], case
    return len(pairs)


def _followed(token, edge, document, facts):
    """Yield the arguments of the edge of each object, its value and errors, and if it is hidden."""
    body = token.ask(document.text)
    errors = {}
    for error in body.get("errors", ()):
        path = error["path"]
        if "edge" in path:
            at = path.index("edge")
            errors.setdefault(tuple(path[:at]), set()).add(_told(error, path[at + 1 :]))
    hidden = body.get("extensions", {}).get("access", {}).get("hiddenFields", {})
    for place, entry in document.objects(body["data"]).items():
        if entry["id"] in facts:
            arguments = arguments_of(edge, entry, facts[entry["id"]])
            seen = entry["edge"], errors.get(place, set())
            yield arguments, seen, edge.name in hidden.get(edge.owner, ())


def _roots(token, edge, options, arguments):
    """Return the value and the errors of the root field by its arguments."""
    distinct = {_key(filled): filled for filled in arguments if filled is not None}
    roots = {}
    for text, keys in root_documents(edge, options, distinct):
        body = token.ask(text)
        values = {alias: (body["data"][alias], set()) for alias in keys}
        for error in body.get("errors", ()):
            alias, *below = error["path"]
            values[alias][1].add(_told(error, followed_path(edge, below)))
        for alias, (value, errors) in values.items():
            roots[keys[alias]] = followed_value(edge, value), errors
    return roots


def _key(arguments):
    return tuple(arguments.items())


def _told(error, below):
    extensions = error["extensions"]
    return extensions["code"], extensions["httpStatus"], error["message"], *below
