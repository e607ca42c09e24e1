"""Internal address: the same calls, tokens, rules and masks, with its own rate buckets."""

import httpx
import pytest
from world import ORIGIN

from gateway.app import assemble

PREFIX = "/internal/api/access/collab"


@pytest.fixture
async def inside(content):
    """A second gateway over the same store that also serves the internal address."""
    settings = content.world.gateway.services.settings.model_copy(
        update={"internal_enabled": True, "rate_limits": "on"}
    )
    gateway = assemble(settings, sandbox=content.world.sandbox)
    async with gateway.running():
        transport = httpx.ASGITransport(gateway, client=("10.7.7.7", 5000))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            yield client


async def get(client, path, token):
    return await client.get(path, headers={"authorization": f"Bearer {token}"})


async def test_the_internal_address_gives_the_same_responses(content, inside):
    token = await content.block_all_token(("folder", content.id("boats"), "allow"))
    for path in ("/sites", f"/files/{content.id('plan')}", f"/files/{content.id('notes')}"):
        inner = await get(inside, PREFIX + path, token)
        outer = await get(inside, "/api/access/collab" + path, token)
        bodies = [response.json() for response in (inner, outer)]
        for body in bodies:
            body.pop("requestId", None)
        assert (inner.status_code, bodies[0]) == (outer.status_code, bodies[1])


async def test_the_internal_address_has_its_own_rate_buckets(content, inside):
    token = await content.token()
    for _ in range(3):
        await get(inside, PREFIX + "/sites", token)

    inner = await get(inside, PREFIX + "/sites", token)
    outer = await get(inside, "/api/access/collab/sites", token)

    left = [int(response.headers["x-ratelimit-remaining"]) for response in (inner, outer)]
    assert left == [56, 59]


async def test_other_surfaces_are_missing_on_the_internal_address(content, inside):
    response = await get(inside, "/internal/api/access/email/messages", await content.token())

    assert response.status_code == 404


async def test_the_internal_address_is_off_by_default(content):
    async with content.client(await content.token()) as client:
        response = await client.get(PREFIX + "/sites")

    assert response.status_code == 404


async def test_the_decision_log_distinguishes_the_internal_address(content, inside):
    token = await content.token()
    await get(inside, PREFIX + "/sites", token)
    await get(inside, "/api/access/collab/sites", token)

    admin = {"authorization": content.world.admin.headers["authorization"]}
    decisions = (await inside.get("/api/decisions", headers=admin)).json()["decisions"]
    assert [
        (decision["door"], decision["operation"])
        for decision in decisions
        if decision["actor"] is None
    ] == [("rest", "collabSites"), ("internal", "collabSites")]
