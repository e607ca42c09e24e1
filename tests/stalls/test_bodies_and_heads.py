"""
No body and no header of a caller or an administrator holds the event loop.

Settings of tokens and of child tokens, management bodies, saved documents and headers get the
hostile texts of `hostile_texts`, as many and as long as their readers take. CI tries a few;
`STALLS=all` tries all.
"""

import os
import unicodedata

import orjson
import pytest
import whole_world
from generated_requests import LIMITS
from hostile_texts import FEW, UNITS, text_of

from policy import recipients
from policy.settings import DEFAULTS, MAX_WORDS

pytestmark = pytest.mark.stall

IS_WHOLE = os.environ.get("STALLS") == "all"
NAMES = tuple(UNITS) if IS_WHOLE else FEW
CHILDREN = "/api/access/token/children"
HEAD = 30_000  # bytes of a header; the head has 32 KiB
LONG = LIMITS["json"] - 1000
IDN = [f"@{'漢é' * 20}{number}.{'ā' * 40}.example" for number in range(MAX_WORDS)]


def call(served, stalls, name, method, url, **content):
    client = served.client if "/api/access/" in url or url == "/graphql" else served.admin
    content = whole_world.as_json(content) if url == "/graphql" else content
    return stalls.measure_sync(
        name,
        lambda: served.runner.run(client.request(method, url, **content)),
        excluded=lambda: served.sandbox_time.seconds,
    )


def many(text):
    """Return entries of a list: few long ones, many short ones, and as many as a body has."""
    yield "one", [text_of(text, LONG)]
    size = LONG // MAX_WORDS - 10
    yield "a thousand", [f"{number}{text_of(text, size)}" for number in range(MAX_WORDS)]
    domain = f"@{text_of(text, 230)}.example"
    yield "domains", [f"@{number}{domain[1:]}" for number in range(700)]


def test_no_list_of_international_domains(served, stalls):
    rules = {"allow": IDN[:600], "block": []}
    body = orjson.dumps({"name": "n", "settings": {"recipientRules": rules}})
    url = f"/api/access-tokens/{served.token_id}"
    statuses = [
        call(served, stalls, f"{method} {path} IDN", method, path, content=body).status_code
        for method, path in (("POST", CHILDREN), ("PATCH", url))
    ]

    assert statuses == [201, 200]


def test_no_token_with_many_patterns_when_it_is_first_used(served, stalls):
    rules = {"allow": IDN[:600], "block": []}
    body = {"settings": {"recipientRules": rules, "emailAccessEnabled": True}}
    made = served.runner.run(served.admin.get(f"/api/access-tokens/{served.token_id}")).json()
    new = {"name": "n", "operatorId": made["operatorId"], "resourceIds": made["resourceIds"]}
    token = served.runner.run(served.admin.post("/api/access-tokens", json=new | body)).json()
    recipients._normalize_domain.cache_clear()  # as after a start
    headers = {"authorization": f"Bearer {token['token']}"}
    name = "the first request of a token with 600 IDN"
    response = call(served, stalls, name, "GET", "/api/access/token", headers=headers)

    assert response.status_code == 200


def test_no_list_of_children(served, stalls):
    patterns = [f"bo{number}@{'w' * 40}.example" for number in range(MAX_WORDS)]
    settings = {"recipientRules": {"allow": patterns, "block": []}}
    for number in range(100):
        body = orjson.dumps({"name": f"c{number}", "settings": settings})
        served.call("POST", CHILDREN, content=body)
    response = call(served, stalls, f"GET {CHILDREN}", "GET", CHILDREN)
    query = orjson.dumps({"query": "{childTokens{children{id name settings}}}"})
    call(served, stalls, "childTokens", "POST", "/graphql", content=query)
    call(served, stalls, "GET /api/access-tokens", "GET", "/api/access-tokens?limit=200")

    assert len(response.json()["children"]) == 100


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        (setting, text)
        for setting in DEFAULTS
        for text in NAMES
        if IS_WHOLE or setting == "recipientRules" or text == NAMES[0]
    ],
)
def test_no_setting(served, stalls, setting, text):
    for label, entries in many(text):
        value = {"allow": entries, "block": []} if setting == "recipientRules" else entries
        body = orjson.dumps({"name": "n", "settings": {setting: value}})
        for method, url in (
            ("POST", CHILDREN),
            ("PATCH", f"/api/access-tokens/{served.token_id}"),
            ("POST", "/api/access-tokens"),
        ):
            name = f"{method} {url}: {setting} {label} {text}"
            response = call(served, stalls, name, method, url, content=body)
            assert response.status_code in {200, 201, 400, 403, 413, 422}, response.text[:300]


BODIES = {
    "POST /api/operators": lambda text: {"email": text, "displayName": text},
    "POST /api/resources": lambda text: {"name": text, "description": text, "operatorIds": [text]},
    "POST /api/access-tokens/{}/rotate": lambda text: {"graceSeconds": text},
    "POST /api/access-tokens/{}/collab-rules": lambda text: {
        "ruleType": "mime_type",
        "pattern": text,
        "action": "block",
        "description": text,
    },
    "PUT /api/access-tokens/{}/collab-rules": lambda text: {
        "rules": [
            {"ruleType": "mime_type", "pattern": f"{n}{text[:1000]}", "action": "block"}
            for n in range(200)
        ]
    },
    "POST /api/access-tokens/{}/explain": lambda text: {
        "method": "GET",
        "path": f"/api/access/{text}",
        "query": {"q": text},
        "address": text,
    },
    "POST /api/connections": lambda text: {
        "kind": "email",
        "provider": text,
        "accountEmail": text,
        "operatorId": text,
        "credentials": {"password": text},
    },
    "PUT /api/documents/a": lambda text: {
        "document": f'query ($x: String = "{text[:7000]}") {{ emails(q: $x) {{ hasMore }} }}',
        "method": "GET",
        "path": f"/api/saved/{text[:190]}",
        "description": text[:400],
    },
    "PUT /api/documents/b": lambda text: {
        "document": text,
        "method": text,
        "path": text,
        "description": text,
    },
}


@pytest.mark.parametrize("route", BODIES)
@pytest.mark.parametrize("text", NAMES)
def test_no_management_body(served, stalls, route, text):
    method, path = route.split()
    url = path.format(served.token_id)
    for size in (500, 60_000, LONG // 4):
        body = orjson.dumps(BODIES[route](text_of(text, size)))
        response = call(served, stalls, f"{route} {text}", method, url, content=body)
        assert response.status_code < 500, response.text[:300]


@pytest.mark.parametrize("text", NAMES)
@pytest.mark.parametrize("argument", ["q", "from", "to", "participant", "subject"])
def test_no_variable_of_a_saved_document(served, stalls, text, argument):
    document = f"query ($x: String) {{ emails({argument}: $x) {{ hasMore }} }}"
    path = f"/api/saved/{argument}"
    body = {"document": document, "method": "GET", "path": path}
    stored = served.runner.run(served.admin.put(f"/api/documents/{argument}", json=body))
    assert stored.status_code in {200, 201}, stored.text
    for size in (1_000, 60_000):
        value = text_of(text, size)[:5000]
        before = served.upstream_calls()
        response = stalls.measure_sync(
            f"{path} {text}",
            lambda value=value: served.runner.run(served.client.get(path, params={"x": value})),
            excluded=lambda: served.sandbox_time.seconds,
        )
        longest = {"q": 500, "subject": 500, "participant": 3300}.get(argument, 320)
        # Counted as providers are asked for it.
        refused = max(len(value), len(unicodedata.normalize("NFKC", value))) > longest
        assert (response.status_code == 400) == refused or argument == "participant"
        assert not refused or served.upstream_calls() == before


HEADERS = (
    "Accept", "Accept-Encoding", "Accept-Language", "Authorization", "Content-Type", "Cookie",
    "Forwarded", "Idempotency-Key", "If-Effect", "If-Match", "If-None-Match", "Origin", "Prefer",
    "Range", "Traceparent", "Tracestate", "X-Forwarded-For", "X-Request-Id",
)  # fmt: skip


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("text", NAMES)
def test_no_header(served, stalls, header, text):
    headers = {header: text_of(text, HEAD).encode()}
    mutation = orjson.dumps({"query": 'mutation{deleteEmail(emailId:"x"){success}}'})
    for method, url, content in (
        ("GET", "/api/access/token", b""),
        ("PATCH", f"/api/access/email/messages/{served.parameters['emailId']}", b"{}"),
        ("POST", "/graphql", mutation),
        ("GET", "/api/operators", b""),
    ):
        name = f"{method} {url.partition(':')[0]} {header} {text}"
        response = call(served, stalls, name, method, url, content=content, headers=headers)
        assert response.status_code < 500, response.text[:300]


@pytest.mark.parametrize("text", NAMES)
def test_no_message_to_five_hundred_people(served, stalls, text):
    hosts = [f"{number}{text_of(text, 120)}" for number in range(500)]
    for label, people in (
        ("domains", [{"email": f"bo@{host[:60]}.{host[60:120]}.example"} for host in hosts]),
        ("international domains", [{"email": f"bo{entry}"} for entry in IDN[:500]]),
        ("locals", [{"email": f"{host[:200]}@example.example"} for host in hosts]),
        ("names", [{"email": "bo@example.example", "name": host[:150]} for host in hosts]),
    ):
        body = orjson.dumps({"to": people, "subject": "s", "body": "b"})
        url = "/api/access/email/messages/send"
        response = call(served, stalls, f"500 {label} {text}", "POST", url, content=body)

        assert response.status_code in {200, 400}, response.text[:300]
