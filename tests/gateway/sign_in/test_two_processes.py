"""A grant that has ended is refused at the next request, by each of two processes on one store."""

import asyncio
from contextlib import ExitStack

import httpx
import pytest
from agent_client import Agent
from database_servers import postgres_server
from gateway_processes import ADMIN, serving, tell
from run_sizes import times
from sign_in_client import REDIRECT, App

pytestmark = pytest.mark.slow

ROUNDS = times(15)
ENDS = ["the parent", "the grant", "by the client", "by a second use"]


@pytest.fixture(params=["sqlite", "postgresql"])
def bases(request, tmp_path):
    """The addresses of two processes on one store."""
    settings = {"AGW_RATE_LIMITS": "off", "AGW_PUBLIC_URL": "https://gateway.example"}
    with ExitStack() as stack:
        if request.param == "postgresql":
            settings["AGW_DATABASE_URL"] = stack.enter_context(postgres_server()).url
        processes = [stack.enter_context(serving(tmp_path, **settings)) for _ in range(2)]
        yield [process.base for process in processes]


async def parent_of(admin):
    """Make a token that may have children; return its id and its text."""
    person = {"email": "ada@example.org", "displayName": "Ada"}
    operator = (await admin.post("/api/operators", json=person)).json()["id"]
    resource = await admin.post("/api/resources", json={"name": "r", "operatorIds": [operator]})
    resource_id = resource.json()["id"]
    account = {"resourceId": resource_id, "operatorId": operator, "accountEmail": "a@example.org"}
    mailbox = {**account, "kind": "email", "provider": "PROVIDER_A", "grantedScopes": []}
    assert (await admin.post("/api/connections", json=mailbox)).status_code == 201
    new = {"name": "own", "operatorId": operator, "resourceIds": [resource_id], "preset": "full"}
    new["settings"] = {"allowChildren": True}

    async def make():
        made = (await admin.post("/api/access-tokens", json=new)).json()
        return made["id"], made["token"]

    return make


async def statuses(clients, token):
    """Return the statuses of a request to each process."""
    seen = []
    for client in clients:
        client.headers["authorization"] = f"Bearer {token}"
        seen.append((await Agent(client).send("tools/list")).status_code)
        del client.headers["authorization"]
    return seen


async def end(kind, admin, app, parent_id, tokens):
    """End a grant, in one of four ways."""
    if kind == "the parent":
        await admin.delete(f"/api/access-tokens/{parent_id}")
    elif kind == "the grant":
        listed = (await admin.get("/api/access-tokens?status=active&limit=200")).json()["tokens"]
        (child,) = [each for each in listed if each["parentId"] == parent_id]
        await admin.delete(f"/api/access-tokens/{child['id']}")
    elif kind == "by the client":
        fields = {"client_id": app.client_id, "token": tokens["refresh_token"]}
        await app.http.post("/oauth/revoke", data=fields)
    else:
        await app.refresh("agr_" + tokens["refresh_token"][4:47] + "x" * 43)


async def test_an_ended_grant_is_refused_at_the_next_request(bases):
    public, passed = "https://gateway.example", 0
    first, second = (httpx.AsyncClient(base_url=base) for base in bases)
    async with first, second, httpx.AsyncClient(base_url=bases[1], headers=ADMIN) as admin:
        make = await parent_of(admin)
        new = {"name": "App", "redirectUris": [REDIRECT]}
        client_id = (await admin.post("/api/oauth-clients", json=new)).json()["clientId"]
        for turn in range(ROUNDS):
            parent_id, own = await make()
            app = App(first if turn % 2 else second, client_id, base=public)
            code = (await app.grant(own))["code"]
            app.http = second if turn % 2 else first
            tokens = (await app.redeem(code)).json()
            assert await statuses((first, second), tokens["access_token"]) == [200, 200]
            kind = ENDS[turn % len(ENDS)]
            if kind == "by a second use":
                old = tokens["refresh_token"]
                tokens = {**(await app.refresh(old)).json(), "refresh_token": old}
                assert await statuses((first, second), tokens["access_token"]) == [200, 200]
            passed += 1
            await end(kind, admin, app, parent_id, tokens)

            assert await statuses((first, second), tokens["access_token"]) == [401, 401], kind
            assert (await app.refresh(tokens["refresh_token"])).status_code == 400
            await admin.delete(f"/api/access-tokens/{parent_id}")
    tell(rounds=ROUNDS, accepted_before=passed, late=0)


async def test_of_concurrent_uses_of_a_code_one_succeeds(bases):
    first, second = (httpx.AsyncClient(base_url=base) for base in bases)
    async with first, second, httpx.AsyncClient(base_url=bases[0], headers=ADMIN) as admin:
        make = await parent_of(admin)
        new = {"name": "App", "redirectUris": [REDIRECT]}
        client_id = (await admin.post("/api/oauth-clients", json=new)).json()["clientId"]
        _, own = await make()
        for _ in range(5):
            app = App(first, client_id, base="https://gateway.example")
            code = (await app.grant(own))["code"]
            fields = {"client_id": client_id, **app.exchange(code)}
            calls = [client.post("/oauth/token", data=fields) for client in (first, second) * 4]
            answers = await asyncio.gather(*calls)
            issued = [answer.json() for answer in answers if answer.status_code == 200]
            assert len(issued) == 1
            assert await statuses((first, second), issued[0]["access_token"]) == [401, 401]
