"""Connections over REST that tests connect by consent."""

import pytest

KINDS = {
    "PROVIDER_A": "email",
    "PROVIDER_B": "email",
    "COLLAB": "collab",
    "BOARDS": "tasks",
    "PROJECTS": "tasks",
}


@pytest.fixture
def connect(admin, operator, resource):
    """Make a connection that was never connected."""

    async def made(provider="PROVIDER_A", account="ada@example.org", **more):
        new = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": KINDS[provider],
            "provider": provider,
            "accountEmail": account,
            "grantedScopes": [],
            **more,
        }
        return (await admin.post("/api/connections", json=new)).json()["id"]

    return made
