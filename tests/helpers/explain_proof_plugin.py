"""
A pytest plugin that proves `explain` on every call that a test saw refused.

    PYTHONPATH=src:tests/helpers python -m pytest -p explain_proof_plugin tests/rest_compat/collab

At the end of a test, before its world is closed, the plugin explains its refused calls (403, 404,
422). `explain` must return the status, code and layer of the response; its change, applied to a
copy of the token, must let the call pass; and with any part of the change left out the copy must be
refused. Reads are really repeated, writes run dry. The results are written to the file that
REFUSAL_REPORT names, one JSON line per call.
"""

import copy
import functools
import hashlib
import inspect
import json
import os
from collections import Counter
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl

import httpx
import pytest
from sqlmodel import col, or_, select

from gateway.app import Gateway
from gateway.auth import tokens
from gateway.store.tables import AccessToken, CollabRule
from policy.vocabulary import LAYER_BY_CODE, Code

REFUSED = (403, 404, 422)
SURFACES = ("/api/access/", "/internal/api/access/")
NOT_REPEATED = {b"host", b"authorization", b"idempotency-key", b"prefer", b"if-match"}
MOST = int(os.environ.get("REFUSAL_PROOFS", "0"))  # of one test, evenly chosen; 0 proves all

# Their worlds are made in another event loop than they run in, and bear no more than they ask.
TWO_LOOPS = ("test_several_connections_do_not_tell_which_of_them_sees_a_file",)

_seen: list["Refused"] = []
_addresses = count(1)
tally: Counter[str] = Counter()


class Refused:
    """A refused call, as it was sent."""

    def __init__(self, transport, request, body):
        self.gateway: Gateway = transport.app
        self.method = request.method
        self.url = request.url
        self.headers = request.headers
        self.body = body

    @property
    def key(self):
        text = self.headers.get("authorization", "")
        return id(self.gateway), self.method, str(self.url), self.body, text

    @property
    def token_text(self):
        return self.headers["authorization"].split()[-1]


async def sent_bytes(request):
    """Return what a request holds; what streams is not kept."""
    return request.content if hasattr(request, "_content") else b""


def watch(handle):
    """Remember what the gateway refuses."""

    @functools.wraps(handle)
    async def handling(self, request):
        response = await handle(self, request)
        if isinstance(self.app, Gateway) and interesting(request):
            await response.aread()
            if refused(response, request):
                _seen.append(Refused(self, request, await sent_bytes(request)))
        return response

    return handling


def interesting(request):
    path = request.url.path
    bearer = request.headers.get("authorization", "").split()
    known = bearer[1:] and bearer[1].startswith("agw_")
    return known and (path.startswith(SURFACES) or path == "/graphql")


def refused(response, request):
    if request.url.path != "/graphql":
        return response.status_code in REFUSED
    return bool(stops(response))


def stops(response):
    """Return the refusals of a GraphQL answer."""
    if not response.headers.get("content-type", "").endswith("json"):
        return []
    return [
        error
        for error in response.json().get("errors") or ()
        if error.get("extensions", {}).get("httpStatus") in REFUSED
    ]


def client(gateway, secret):
    """Return a client with an address of its own, so that no limit is met."""
    number = next(_addresses)
    address = (f"10.{100 + number // 62500}.{number // 250 % 250}.{number % 250}", 50_000)
    transport = httpx.ASGITransport(gateway, client=address)
    return httpx.AsyncClient(
        transport=transport,
        base_url="http://127.0.0.1:8000",
        headers={"authorization": f"Bearer {secret}"},
    )


async def send(gateway, method, path, **more):
    """Ask the management API."""
    secret = gateway.services.settings.admin_token.get_secret_value()
    async with client(gateway, secret) as admin:
        return await admin.request(method, path, **more)


def question(call):
    """Write the call down as `explain` takes it."""
    if call.url.path == "/graphql":
        graphql_body = json.loads(call.body)
        return {
            "document": graphql_body["query"],
            "variables": graphql_body.get("variables") or {},
            **(
                {"operationName": graphql_body["operationName"]}
                if graphql_body.get("operationName")
                else {}
            ),
        }
    body = None
    if call.body and not call.url.path.endswith("/files/upload"):
        body = decoded(call.body)
    raw = call.url.raw_path.decode()
    return {"method": call.method, "path": raw, **({"body": body} if body is not None else {})}


def decoded(body):
    """Read a body; what is no JSON is left out, for `explain` takes JSON alone."""
    try:
        return json.loads(body)
    except ValueError:
        return None


async def repeated(call, text=None):
    """Send the call again, with its own token or another's."""
    headers = [
        (name, value) for name, value in call.headers.raw if name.lower() not in NOT_REPEATED
    ]
    async with client(call.gateway, text or call.token_text) as caller:
        return await caller.request(
            call.method, str(call.url), content=call.body or None, headers=headers
        )


async def stored(call):
    """Return the caller's token and its rules."""
    digest = hashlib.sha256(call.token_text.encode()).digest()
    async with call.gateway.services.database.reading() as session:
        rows = await session.exec(
            select(AccessToken).where(
                or_(col(AccessToken.digest) == digest, col(AccessToken.previous_digest) == digest)
            )
        )
        token = rows.first()
        if token is None:
            return None
        rules = (
            await session.exec(select(CollabRule).where(col(CollabRule.token_id) == token.id))
        ).all()
        linked = await tokens.resources_of(session, [token])
    return token, rules, linked[token.id]


async def made(call, holding, change):
    """Make a copy of the token with a change; return its id and text."""
    token, rules, resources = holding
    body = {
        "name": "copy",
        "operatorId": token.operator_id,
        "resourceIds": resources,
        "settings": {
            name: value
            for name, value in {**token.settings, **change["settings"]}.items()
            if value is not None
        },
    }
    answer = await send(call.gateway, "POST", "/api/access-tokens", json=body)
    assert answer.status_code == 201, answer.text
    known = answer.json()
    remaining = [
        {"ruleType": rule.rule_type, "pattern": rule.pattern, "action": rule.action}
        for rule in rules
        if rule.id not in change["removeRules"]
    ]
    path = f"/api/access-tokens/{known['id']}/collab-rules"
    wanted = {"rules": [*remaining, *change["addRules"]]}
    put = await send(call.gateway, "PUT", path, json=wanted)
    assert put.status_code == 200, put.text
    return known["id"], known["token"]


async def explained(call, token_id):
    path = f"/api/access-tokens/{token_id}/explain"
    answer = await send(call.gateway, "POST", path, json=question(call))
    assert answer.status_code == 200, answer.text
    return answer.json()


def smaller(change, settings):
    """Yield the change without each of its parts in turn."""
    for name, value in change["settings"].items():
        before = settings.get(name)
        rest = {key: other for key, other in change["settings"].items() if key != name}
        if isinstance(value, list):
            for added in [entry for entry in value if entry not in (before or [])]:
                left = [entry for entry in value if entry != added]
                yield {**change, "settings": {**rest, name: left}}
        else:
            yield {**change, "settings": rest}
    for member in ("addRules", "removeRules"):
        for entry in change[member]:
            less = copy.deepcopy(change)
            less[member].remove(entry)
            yield less


def expected_layer(code, call, explanation):
    """Return the layer that the code is of; two codes are of more than one."""
    if explanation["message"] == "This token may see free and busy times only.":
        return "operation"
    if code == Code.EVENT_NOT_FOUND and "allowedCalendarIds" in str(explanation["change"]):
        return "scope"
    if code == Code.NOT_FOUND and explanation["message"].startswith(
        "There is nothing at this path."
    ):
        return "input"
    return LAYER_BY_CODE[code].value


def expected_answer(response, call):
    """Return (status, error code) of the response."""
    if call.url.path == "/graphql":
        first = (response.json().get("errors") or [{}])[0]
        return response.status_code, first.get("extensions", {}).get("code")
    return response.status_code, response.json().get("error")


async def proved(call):
    """Prove one call; return what came of it."""
    holding = await stored(call)
    if holding is None:
        return "the token is not known"
    response = await repeated(call)
    if not refused(response, call):
        return "no longer refused at the end of the test"
    explanation = await explained(call, holding[0].id)
    if explanation["outcome"] == "allowed" and not reads(call):
        assert "It would be sent now" in str(explanation["layers"]), explanation
        return "upstream refuses the change itself, which a dry run does not send"
    assert (explanation["status"], explanation["error"]) == expected_answer(response, call), (
        explanation,
        response.text,
    )
    layer = next(step["layer"] for step in explanation["layers"] if step["outcome"] == "refused")
    code = Code(explanation["error"] or Code.NOT_FOUND)
    assert layer == expected_layer(code, call, explanation), (layer, code)
    if explanation["change"] is None:
        if explanation["partialChange"] is not None:
            await check_partial_change(call, holding, explanation)
        return f"{code}: {explanation['unchangeable']}"
    change = explanation["change"]
    assert change["settings"] or change["addRules"] or change["removeRules"], explanation
    await passes(call, holding, change)
    for less in smaller(change, holding[0].settings):
        copy_id, _ = await made(call, holding, less)
        again = await explained(call, copy_id)
        assert again["outcome"] != "allowed", (change, less)
        tally["parts left out"] += 1
    return None


def reads(call):
    if call.url.path == "/graphql":
        return b"mutation" not in call.body
    return call.method in ("GET", "HEAD")


async def passes(call, holding, change):
    """Make a copy of the token with the change, and see the call pass with it."""
    copy_id, text = await made(call, holding, change)
    again = await explained(call, copy_id)
    assert again["outcome"] == "allowed", (change, again)
    if reads(call) and "pageToken" not in dict(parse_qsl(call.url.query.decode())):
        answer = await repeated(call, text)
        assert answer.status_code == again["status"] < 400, (change, answer.text)
        assert call.url.path != "/graphql" or not answer.json().get("errors"), answer.text
        tally["really repeated"] += 1


async def check_partial_change(call, holding, explanation):
    """See that a change that does not do is worth its name: something else stops the call then."""
    copy_id, _ = await made(call, holding, explanation["partialChange"])
    again = await explained(call, copy_id)
    assert again["outcome"] != "allowed", explanation
    assert again["message"] != explanation["message"], explanation
    assert (again["unchangeable"], again["partialChange"]) == (explanation["unchangeable"], None), (
        again
    )
    tally["refusals lifted, another left"] += 1


async def prove_all(test):
    """Prove what the test saw refused."""
    calls = [*{call.key: call for call in _seen}.values()]
    _seen.clear()
    step = -(-len(calls) // MOST) if MOST and calls else 1
    for call in calls[::step]:
        try:
            exception = await proved(call)
        except Exception as problem:
            tally["mismatches"] += 1
            report({"test": test, "call": described(call), "mismatch": repr(problem)[:2000]})
            raise
        finally:
            _seen.clear()
        tally["proved" if exception is None else "without a change"] += 1
        report({"test": test, "call": described(call), "exception": exception})


def described(call):
    if call.url.path == "/graphql":
        return json.loads(call.body)["query"]
    return f"{call.method} {call.url.path}"


def report(line):
    name = os.environ.get("REFUSAL_REPORT")
    if name:
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def proving(test, name):
    @functools.wraps(test)
    async def run(*args, **kwargs):
        _seen.clear()
        await test(*args, **kwargs)
        await prove_all(name)

    return run


def pytest_configure():
    httpx.ASGITransport.handle_async_request = watch(httpx.ASGITransport.handle_async_request)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    for item in items:
        test = getattr(item, "obj", None)
        plain = inspect.iscoroutinefunction(test) and not hasattr(test, "hypothesis")
        if plain and item.name not in TWO_LOOPS:
            item.obj = proving(test, item.nodeid)


def pytest_terminal_summary(terminalreporter):
    for what in ("proved", "really repeated", "parts left out", "without a change", "mismatches"):
        terminalreporter.write_line(f"refusals {what}: {tally[what]}")
