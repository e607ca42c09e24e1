"""With a listener for administrators, each listener serves its own paths alone."""

import httpx
import pytest
import pytest_asyncio

from gateway.app import assemble

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADMIN = {"Authorization": "Bearer the-admin-token-of-the-tests"}
PUBLIC_PORT, ADMIN_PORT = 8000, 9000
MANAGEMENT = [
    "/api/access-tokens",
    "/api/operators",
    "/api/resources",
    "/api/connections",
    "/api/decisions",
    "/metrics",
]
CLIENTS = [
    "/api/access/token",
    "/api/access/email/messages",
    "/openapi.json",
    "/explorer/",
    "/docs/",
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ask(settings):
    separate = settings.model_copy(update={"admin_port": ADMIN_PORT})
    async with assemble(separate).running() as gateway:

        async def ask(port, path, method="GET"):
            transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
            base = f"http://gateway.test:{port}"
            async with httpx.AsyncClient(transport=transport, base_url=base) as client:
                return await client.request(method, path, headers=ADMIN)

        yield ask


@pytest.mark.parametrize("path", MANAGEMENT)
async def test_management_and_metrics_are_on_the_admin_listener_alone(ask, path):
    served, hidden = await ask(ADMIN_PORT, path), await ask(PUBLIC_PORT, path)

    assert served.status_code == 200
    assert hidden.status_code == 404
    assert (hidden.json()["error"], hidden.json()["message"]) == (
        "NOT_FOUND",
        "There is nothing at this path. The calls are described at /docs/.",
    )


@pytest.mark.parametrize("port", [ADMIN_PORT, PUBLIC_PORT])
async def test_the_description_of_the_management_api_is_on_both_listeners(ask, port):
    assert (await ask(port, "/api/management/openapi.json")).status_code == 200


@pytest.mark.parametrize("path", CLIENTS)
async def test_the_admin_listener_serves_no_client(ask, path):
    assert (await ask(ADMIN_PORT, path)).status_code == 404
    assert (await ask(PUBLIC_PORT, path)).status_code != 404


async def test_graphql_is_not_on_the_admin_listener(ask):
    answer = await ask(ADMIN_PORT, "/graphql", "POST")

    assert answer.status_code == 404
    assert answer.json()["errors"][0]["extensions"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("port", [PUBLIC_PORT, ADMIN_PORT])
async def test_both_listeners_answer_probes(ask, port):
    assert (await ask(port, "/healthz")).status_code == 200
    assert (await ask(port, "/readyz")).status_code == 200
