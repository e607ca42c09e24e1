"""A registered client, and a person whose token may have children."""

import pytest
from agent_client import Agent
from sign_in_client import REDIRECT, App

FULL = {"allowChildren": True}


@pytest.fixture
def base(world):
    return world.gateway.services.settings.base_url


@pytest.fixture
async def own(world):
    """The person's token."""
    return await world.token(FULL)


@pytest.fixture
async def http(world):
    """An HTTP client without a credential."""
    async with world.client() as client:
        yield client


@pytest.fixture
async def registered(world):
    """The client that the operator registered, as the management API answered."""
    new = {"name": "An app", "redirectUris": [REDIRECT]}
    return (await world.admin.post("/api/oauth-clients", json=new)).json()


@pytest.fixture
def app(http, registered, base):
    return App(http, registered["clientId"], base=base)


@pytest.fixture
def agent_of(world):
    """A function that lists the tools of a token, by its status."""

    async def status(token):
        async with world.client(token) as client:
            return (await Agent(client).send("tools/list")).status_code

    return status
