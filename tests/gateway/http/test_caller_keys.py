"""Callers are told apart by their valid credentials, and by their addresses without one."""

import pytest
from guarded_server import exchange, serve, statuses

from gateway.http.caller_keys import CallerKeys
from gateway.http.connection_limits import Limits
from gateway.http.request_state import RequestState


def scope(credential=None, client="192.0.2.1"):
    headers = [] if credential is None else [(b"authorization", b"Bearer " + credential)]
    return {"type": "http", "headers": [(b"host", b"a"), *headers], "client": client}


@pytest.fixture
def keys():
    return CallerKeys(lambda scope: scope["client"])


def ended(status, *, authenticated):
    return RequestState("id", status=status, authenticated=authenticated)


def test_a_credential_is_a_caller_once_a_request_was_authenticated_with_it(keys):
    assert keys.key_of(scope(b"token")) == "192.0.2.1"
    keys.learn(scope(b"token"), ended(403, authenticated=True))

    key = keys.key_of(scope(b"token"))
    assert key == keys.key_of(scope(b"token", client="192.0.2.2")) != "192.0.2.1"
    assert keys.key_of(scope(b"other")) == "192.0.2.1"


def test_100000_active_tokens_are_as_many_callers(keys):
    tokens = [scope(b"token %d" % number) for number in range(100_000)]
    for token in tokens:
        keys.learn(token, ended(200, authenticated=True))

    assert len({keys.key_of(token) for token in tokens}) == 100_000


@pytest.mark.parametrize("status", [401, 404, 429, 503])
def test_wrong_credentials_count_to_the_address(keys, status):
    keys.learn(scope(b"wrong"), ended(status, authenticated=False))
    assert keys.key_of(scope(b"wrong")) == keys.key_of(scope()) == "192.0.2.1"


@pytest.mark.parametrize(("status", "known"), [(401, False), (503, True)])
def test_a_refused_credential_counts_to_the_address_again(keys, status, known):
    keys.learn(scope(b"token"), ended(200, authenticated=True))
    keys.learn(scope(b"token"), ended(status, authenticated=False))
    assert (keys.key_of(scope(b"token")) != "192.0.2.1") is known


def test_pages_of_an_address_are_a_caller_of_their_own(keys):
    keys.learn(scope(b"token"), ended(200, authenticated=True))
    page = keys.page_key_of(scope(b"token"))
    assert page == keys.page_key_of(scope()) != keys.page_key_of(scope(client="192.0.2.2"))
    assert page not in (keys.key_of(scope()), keys.key_of(scope(b"token")))


async def test_the_first_requests_of_connections_are_another(keys):
    """A probe comes on a new connection, and does not wait behind a crowd on old ones."""
    seen = []

    class App:
        connection_limits = Limits(connections=20)

        async def __call__(self, scope, receive, send):
            scope["client"] = "192.0.2.1"
            seen.append(keys.page_key_of(scope))
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    wire = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    async with serve(App()) as port:
        for _ in range(2):
            assert statuses(await exchange(port, wire, wire, wire)) == [204] * 3

    first, later, *_ = seen
    assert seen == [first, later, later] * 2
    assert first != later
