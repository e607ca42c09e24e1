"""Failed responses are collected for the running request, in printable characters."""

import httpx
import pytest

from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import ProviderFailure
from providers.http import failed_responses
from providers.http.client import Origins, Upstream
from providers.oauth.token_endpoint import TokenEndpoint

FORBIDDEN = '{"data": {"boards": ["private"]}, "errors": [{"message": "Not you", "extensions": '
FORBIDDEN += '{"code": "USER_UNAUTHORIZED"}}]}'


def origins(status, body):
    return Origins(transport=httpx.MockTransport(lambda _: httpx.Response(status, content=body)))


@pytest.fixture
def collected():
    collection = failed_responses.collection()
    token = failed_responses.collected.set(collection)
    yield collection
    failed_responses.collected.reset(token)


async def collect(status, body, call):
    with pytest.raises(ProviderFailure):
        await call(origins(status, body))


def get(made):
    return Upstream(made, "https://up.test", connection=1, name="UP").call("POST", "x")


def read(made):
    upstream = Upstream(made, "https://up.test", connection=1, name="UP")
    return BoardClient(upstream).read("{boards{id}}", dict)


def refresh(made):
    endpoint = TokenEndpoint(made, "https://up.test", connection=1, client_id="c")
    return endpoint.refresh("r")


@pytest.mark.parametrize(
    ("status", "body", "call", "expected"),
    [
        pytest.param(400, b"\x1b[2J\x00no\n\xff", get, "[2J no \N{REPLACEMENT CHARACTER}", id="x"),
        pytest.param(500, "ä" * 3000, get, "ä" * failed_responses.MAX_CHARACTERS, id="cut"),
        pytest.param(200, FORBIDDEN, read, "USER_UNAUTHORIZED Not you", id="errors of a 200"),
        pytest.param(400, b'{"error":"invalid_grant"}', refresh, '{"error":"invalid_grant"}'),
    ],
)
async def test_the_text_is_printable_and_bounded(collected, status, body, call, expected):
    await collect(status, body, call)

    (answer,) = collected
    assert (answer.status, answer.text) == (status, expected)
    assert expected not in repr(answer)


async def test_the_last_answers_are_kept(collected):
    for number in range(failed_responses.MAX_RESPONSES + 1):
        await collect(400, str(number).encode(), get)

    assert [answer.text for answer in collected] == ["1", "2", "3", "4", "5"]


async def test_nothing_is_collected_outside_requests():
    await collect(400, b"no", get)

    assert failed_responses.collected.get() is None
