"""The internal address: the same calls, tokens, rules and masks, with rate buckets of its own."""

import httpx
import pytest
from world import ORIGIN

from gateway.app import assemble

PREFIX = "/internal/api/access/collab"


@pytest.fixture
async def inside(content):
    """A second process over the same store that serves the internal address too."""
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


async def test_it_answers_the_same(content, inside):
    token = await content.selecting(("folder", content.id("boats"), "allow"))
    for path in ("/sites", f"/files/{content.id('plan')}", f"/files/{content.id('notes')}"):
        inner = await get(inside, PREFIX + path, token)
        outer = await get(inside, "/api/access/collab" + path, token)
        bodies = [one.json() for one in (inner, outer)]
        for body in bodies:
            body.pop("requestId", None)
        assert (inner.status_code, bodies[0]) == (outer.status_code, bodies[1])


async def test_it_counts_by_itself(content, inside):
    token = await content.token()
    for _ in range(3):
        await get(inside, PREFIX + "/sites", token)

    inner = await get(inside, PREFIX + "/sites", token)
    outer = await get(inside, "/api/access/collab/sites", token)

    left = [int(one.headers["x-ratelimit-remaining"]) for one in (inner, outer)]
    assert left == [56, 59]


async def test_other_surfaces_are_not_there(content, inside):
    answer = await get(inside, "/internal/api/access/email/messages", await content.token())

    assert answer.status_code == 404


async def test_it_is_off_unless_configured(content):
    async with content.client(await content.token()) as client:
        answer = await client.get(PREFIX + "/sites")

    assert answer.status_code == 404


async def test_the_decision_log_tells_the_doors_apart(content, inside):
    token = await content.token()
    await get(inside, PREFIX + "/sites", token)
    await get(inside, "/api/access/collab/sites", token)

    admin = {"authorization": content.world.admin.headers["authorization"]}
    told = (await inside.get("/api/decisions", headers=admin)).json()["decisions"]
    assert [(one["door"], one["operation"]) for one in told] == [
        ("rest", "collabSites"),
        ("internal", "collabSites"),
    ]
