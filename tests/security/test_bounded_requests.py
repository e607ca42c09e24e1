"""
No request holds the worker: the work on a request is bounded before it is done.

The search looks for the request of each row whose handling takes the most CPU, by generated
queries, headers and bodies. `COST_EXAMPLES` sets the examples of each row.
"""

import asyncio
import os
import sys
from urllib.parse import quote

import graphql
import orjson
import pytest
import whole_world
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from graph import schema
from graph.documents.operations import Graph
from rest_compat.binding import INPUT
from rest_compat.documents import document
from rest_compat.table import ENDPOINTS

GRAPH = Graph(schema.build())
EXAMPLES = int(os.environ.get("COST_EXAMPLES", "30"))
LONGEST_REFUSAL = 16 * 1024
LONGEST_URL = 60_000  # characters; the client sends no more than 65,536
MOST_SECONDS = 0.5  # 0.1 is promised of an idle core; the machines of the suite are shared
# The sandbox, in the same process, parses the whole thread at every reply: all replies of 4 MB.
MORE_SECONDS = {"email/reply_to_email": 4.0}
MOST_CALLS = 60_000  # of Python functions; the hostile requests below made millions


@pytest.fixture(scope="module")
def served(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("whole")) as world:
        yield world


def kind_of(row):
    """Return the GraphQL type of a row's JSON body, or None."""
    variables = GRAPH.prepare(document(row.document)).variables
    kinds = [variable.type for variable in variables if variable.name == INPUT]
    return kinds[0] if kinds and row.body != "upload" else None


WITH_BODY = [row for row in ENDPOINTS if kind_of(row) is not None]
LIMITS = {"json": 256 * 1024, "mail": 4 * 1024 * 1024}


def filled(opening, item, closing, size):
    """Return about *size* bytes: *item* again and again, separated by commas."""
    return opening + b",".join([item] * (size // (len(item) + 1))) + closing


def hostile(row):
    """Yield bodies of the largest size that a row takes, by name."""
    size = LIMITS[row.body] - 100
    for item in (b"{}", b"0", b'"\\\\"', b'{"email":"a"}'):
        yield item, filled(b'{"to":[', item, b"]}", size)
        yield item, filled(b'{"fields":{"a":[', item, b"]}}", size)
        yield item, filled(b'{"addLabels":[', item, b'],"name":"n"}', size)
    members = b",".join(b'"%d":1' % number for number in range(size // 13))
    yield "members", b"{" + members + b"}"
    yield "columns", b'{"name":"n","fields":{' + members + b"}}"
    yield "nested", b"[" * size
    yield "a name", b'{"' + b"n" * size + b'":1}'
    yield "a value", b'{"role":"' + b"n" * size + b'"}'
    yield "digits", b'{"connectionId":' + b"1" * size + b"}"
    yield "no JSON", b'"' * size
    yield "no text", b'"\\' * (size // 2)


MOST_CALLS_AT_ONCE = 20_000  # of Python functions, in one step of the loop


class PythonCalls:
    """Counts the calls of Python functions while it is open."""

    def __enter__(self):
        self.count = 0
        sys.setprofile(self._add)
        return self

    def _add(self, _frame, event, _argument):
        self.count += event == "call"

    def __exit__(self, *_):
        sys.setprofile(None)


@pytest.mark.parametrize("row", WITH_BODY, ids=lambda row: f"{row.method} {row.document}")
def test_no_body_is_walked_whole(served, row):
    before = served.upstream_calls()
    for name, body in hostile(row):
        with PythonCalls() as calls:
            headers = {"prefer": "handling=strict"}
            response, _ = served.call(
                row.method, served.url(row.path), content=body, headers=headers
            )

        assert response.status_code == 400, (name, response.text[:300])
        assert response.json()["error"] == "VALIDATION_ERROR", name
        assert len(response.content) <= LONGEST_REFUSAL, name
        assert calls.count <= MOST_CALLS, name
    assert served.upstream_calls() == before


def test_no_set_of_rules_is_walked_whole(served):
    url = f"/api/access-tokens/{served.token_id}/collab-rules"
    rule = b'{"ruleType":"drive","pattern":"a","action":"block"}'
    for item in (b"{}", b"[]", b"0", b'"a"', rule[:-1] + b',"x":1}', rule):
        with PythonCalls() as calls:
            body = filled(b'{"rules":[', item, b"]}", 4_000_000)
            response, _ = served.call("PUT", url, content=body)

        assert response.status_code == 400, response.text[:300]
        assert len(response.content) <= LONGEST_REFUSAL
        assert calls.count <= MOST_CALLS


def test_other_requests_go_on_while_a_set_of_rules_is_stored(served, monkeypatch):
    """The loop does a bounded part of the work at a time, however many rules there are."""
    url = f"/api/access-tokens/{served.token_id}/collab-rules"
    rules = [
        {"ruleType": "mime_type", "pattern": f"text/x{number}", "action": "block"}
        for number in range(5000)
    ]

    run, steps = asyncio.Handle._run, [0]
    with PythonCalls() as calls:

        def count(handle):
            before = calls.count
            run(handle)
            steps.append(calls.count - before)

        monkeypatch.setattr(asyncio.Handle, "_run", count)
        response = served.runner.run(served.admin.put(url, json={"rules": rules}))

    assert [rule["pattern"] for rule in response.json()["rules"]] == [
        rule["pattern"] for rule in rules
    ]
    assert max(steps) <= MOST_CALLS_AT_ONCE


VARIABLES = {
    "recipients": {"to": [{"email": "a"}] * 4000},
    "empty recipients": {"to": [{}] * 15_000},
    "lists": {"to": [[]] * 20_000},
    "unknown members": {str(number): 1 for number in range(6000)},
    "a long name": {"x" * 60_000: 1},
    "labels": {"addLabels": ["a"] * 12_000},
    "no labels": {"addLabels": [1] * 20_000},
}
SENDING = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
CHANGING = (
    'mutation ($input: ModifyEmailInput!) { modifyEmail(emailId: "x", input: $input) { success } }'
)


@pytest.mark.parametrize("value", VARIABLES.values(), ids=VARIABLES)
@pytest.mark.parametrize("query", [SENDING, CHANGING], ids=["send", "modify"])
def test_no_variable_is_walked_whole(served, query, value):
    before = served.upstream_calls()
    body = {"query": query, "variables": {"input": value}}
    with PythonCalls() as calls:
        response, _ = served.call("POST", "/graphql", content=orjson.dumps(body))

    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "VALIDATION_ERROR"
    assert len(response.content) <= LONGEST_REFUSAL
    assert calls.count <= MOST_CALLS
    assert served.upstream_calls() == before


# -- the search ----------------------------------------------------------------------------------

UNITS = [
    *"*a\"'()-:|,@/\\. <&;%\0\né\U0001f600",
    "a ", "a,", "a@b.example ", "a@b,", '"a" ', "a:b ", "(a ", "a) ", "a or ", "a and ", "not ",
    "a eq 1 and ", "a desc,", "<!--", "<a>", "&amp;", "2026-11-20", "-a ", "a*", "10", "[]", "{}",
]  # fmt: skip
units = st.sampled_from(UNITS)
WHOLE_NUMBERS = st.integers(-(2**63), 2**63)


def repeated(longest):
    """Return texts of a start, a repeated unit and an end."""
    times = st.sampled_from([1, 20, 200, 498, 900, 2000, 8000, longest]) | st.integers(0, longest)
    return st.builds(
        lambda start, unit, count, end: (start + unit * (count // len(unit)) + end)[:longest],
        st.sampled_from(["", "a", '"', "(", "*", "<"]),
        units,
        times,
        st.sampled_from(["", "~", '"', ")", "z"]),
    )


def values(kind, longest):
    """Return JSON values for an input type: fitting ones, large ones, and wrong ones."""
    kind = graphql.get_nullable_type(kind)
    if graphql.is_list_type(kind):
        sizes = st.sampled_from([1, 49, 50, 499, 500, 501, 5000])
        return st.builds(lambda item, count: [item] * count, values(kind.of_type, 300), sizes)
    if graphql.is_input_object_type(kind):
        members = {name: values(field.type, longest) for name, field in kind.fields.items()}
        return st.fixed_dictionaries({}, optional=members)
    if graphql.is_enum_type(kind):
        return st.sampled_from([*kind.values, "x"])
    if kind.name == "JSON":
        return json_values(longest)
    return {"Boolean": st.booleans(), "Int": WHOLE_NUMBERS, "Long": WHOLE_NUMBERS}.get(
        kind.name, repeated(longest)
    )


def json_values(longest):
    leaves = repeated(min(longest, 100_000)) | WHOLE_NUMBERS | st.none()
    many = st.sampled_from([1, 90, 100, 190, 200, 5000])
    wide = st.builds(lambda leaf, n: {f"a{at}": leaf for at in range(n)}, leaves, many)
    lists = st.builds(lambda leaf, n: [leaf] * n, leaves, many)
    deep = st.builds(lambda leaf, n: orjson.loads("[" * n + "1" + "]" * n), leaves, st.just(50))
    known = st.builds(
        lambda leaf, names: dict.fromkeys(names, leaf),
        leaves | wide | lists | deep,
        st.lists(st.sampled_from(["Title", "State", "name", "owner", "a"]), min_size=1),
    )
    return wide | lists | deep | known


@st.composite
def requests(draw, row):
    """Draw (path, headers, body) of a request to *row*."""
    variables = GRAPH.prepare(document(row.document)).variables
    query, names = (
        [],
        [variable.name for variable in variables if f"{{{variable.name}}}" not in row.path],
    )
    for name in draw(st.lists(st.sampled_from([*names, "colour"]), max_size=3, unique=True)):
        text = draw(repeated(8000))
        query.append(f"{name}={quote(text, errors='replace')[:24_000].rsplit('%', 1)[0]}")
    if draw(st.sampled_from([False] * 9 + [True])):
        query += [f"x{number}=1" for number in range(draw(st.sampled_from([90, 99, 200])))]
    ids = {}
    for name in draw(st.sampled_from([[], [], [], ["emailId", "fileId", "siteId", "itemId"]])):
        ids[name] = quote(draw(repeated(2000)), safe="", errors="replace")[:9000].rsplit("%", 1)[0]
    headers = {}
    for name in draw(st.lists(st.sampled_from(["prefer", "if-match", "accept"]), max_size=1)):
        text = draw(repeated(8000)).encode("ascii", "replace").decode()
        headers[name] = "".join(char if " " <= char <= "~" else "?" for char in text)
    kind = kind_of(row)
    body = b""
    if kind is not None:
        longest = LIMITS[row.body] - 1000
        body = orjson.dumps(draw(values(kind, longest)))[: LIMITS[row.body] + 10]
    return ids, "&".join(query), headers, body


SEARCH = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate, Phase.target],
)

# Hypothesis warns of the size of an example, and a warning is an error.
LARGE_EXAMPLES = pytest.mark.filterwarnings("ignore:Generating overly large repr")


@pytest.mark.slow
@LARGE_EXAMPLES
@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: f"{row.method} {row.document}")
def test_no_request_found_by_search_holds_the_worker(served, row):
    served.call(row.method, served.url(row.path), content=b"{}")  # what is made once is made
    _, baseline = served.call(row.method, served.url(row.path), content=b"{}")
    worst = [0.0, None]

    @SEARCH
    @given(request=requests(row))
    def search(request):
        ids, query, headers, body = request
        path = served.url(row.path, **ids) + (f"?{query}" if query else "")
        if len(path) > LONGEST_URL:
            path = path[:LONGEST_URL].rsplit("%", 1)[0]
        response, seconds = served.call(row.method, path, content=body, headers=headers)
        if seconds > worst[0]:
            worst[:] = seconds, (path, headers, body)
        target(seconds)
        assert response.status_code < 500 or response.status_code in (502, 504)
        assert response.status_code != 400 or len(response.content) <= LONGEST_REFUSAL

    search()
    most = MORE_SECONDS.get(row.document, MOST_SECONDS)
    seconds, request = worst
    if seconds > baseline + most:  # what else the machine does is not seen three times
        path, headers, body = request
        again = [served.call(row.method, path, content=body, headers=headers)[1] for _ in range(2)]
        seconds = min(seconds, *again)
    assert seconds <= baseline + most, [str(part)[:200] for part in request]


NAMES = st.sampled_from(
    ["name", "settings", "operatorId", "resourceIds", "email", "credentials", "rules", "ruleType",
     "pattern", "action", "path", "method", "query", "kind", "provider", "selectedSiteIds", "a"]
)  # fmt: skip


@st.composite
def management_bodies(draw):
    leaves = json_values(5000) | repeated(100_000) | WHOLE_NUMBERS | st.none()
    values = leaves | st.dictionaries(NAMES, leaves, max_size=4)
    body = draw(st.dictionaries(NAMES, values, max_size=6))
    return orjson.dumps(body)[: LIMITS["json"]]


@pytest.mark.slow
@LARGE_EXAMPLES
@pytest.mark.parametrize(
    "route",
    [("POST", "/api/access-tokens"), ("PATCH", "/api/access-tokens/{}"),
     ("POST", "/api/access-tokens/{}/rotate"), ("POST", "/api/access-tokens/{}/collab-rules"),
     ("PUT", "/api/access-tokens/{}/collab-rules"), ("POST", "/api/access-tokens/{}/explain"),
     ("POST", "/api/operators"), ("POST", "/api/resources"), ("PATCH", "/api/resources/1"),
     ("POST", "/api/connections"), ("PATCH", "/api/connections/1"),
     ("GET", "/api/access-tokens"), ("GET", "/api/decisions")],
    ids=" ".join,
)  # fmt: skip
def test_no_management_request_found_by_search_holds_the_worker(served, route):
    method, path = route[0], route[1].format(served.token_id)
    worst = [0.0, ""]

    @SEARCH
    @given(body=management_bodies(), text=repeated(20_000))
    def search(body, text):
        url = path
        if method == "GET":
            url, body = f"{path}?pageToken={quote(text)[:24_000].rsplit('%', 1)[0]}", b""
        response, seconds = served.call(method, url, content=body)
        if seconds > worst[0]:
            worst[:] = seconds, (response.status_code, url[:200], body[:200])
        target(seconds)
        assert response.status_code != 400 or len(response.content) <= LONGEST_REFUSAL

    search()
    assert worst[0] <= MOST_SECONDS, worst[1]


FIELDS = [
    "id ", "emails{id} ", "emails{from{email}} ", "from{name} to{email} ", "hasMore ", "...A ",
    "...on Email{id} ", "#:id ", "#:__typename ", "...F# ", "id@include(if:true) ", "id(a:1) ",
    "__schema{types{name}} ", '#:__type(name:"Email"){fields{name}} ', "subject\n",
]  # fmt: skip
FRAMES = [
    "{@}", "{emails{@}}", "{emails{emails{@}}}", "{accessToken{@}}", "{__schema{@}}",
    "query($a:Int){@}", "mutation{@}", "{emails{emails{@}}} fragment A on Email{id}",
]  # fmt: skip


@st.composite
def documents(draw):
    selections = "".join(
        "".join(field.replace("#", f"a{number}") for number in range(count))
        for field, count in draw(
            st.lists(
                st.tuples(st.sampled_from(FIELDS), st.integers(1, 400)), min_size=1, max_size=3
            )
        )
    )
    text = draw(st.sampled_from(FRAMES)).replace("@", selections)
    count = draw(st.sampled_from([0, 10, 50, 100, 218]))
    kind = draw(st.sampled_from(["Query", "Email", "EmailPage"]))
    below = draw(st.sampled_from(["id", "hasMore", "...F1", "emails{id}", "from{email name}"]))
    text += "".join(f" fragment Fa{number} on {kind}{{{below}}}" for number in range(count))
    return text[:60_000]


@pytest.mark.slow
@LARGE_EXAMPLES
def test_no_document_found_by_search_holds_the_worker(served):
    worst = [0.0, ""]

    @settings(SEARCH, max_examples=EXAMPLES * 10)
    @given(text=documents(), number=WHOLE_NUMBERS)
    def search(text, number):
        body = orjson.dumps({"query": f"{text} #{number}"})  # a text that no cache knows
        response, seconds = served.call("POST", "/graphql", content=body)
        if seconds > worst[0]:
            worst[:] = seconds, text[:500]
        target(seconds)
        assert response.status_code in (200, 400)
        assert response.status_code != 400 or len(response.content) <= LONGEST_REFUSAL

    search()
    assert worst[0] <= MOST_SECONDS, worst[1]
