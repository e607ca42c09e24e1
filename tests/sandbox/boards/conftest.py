"""The demo's boards and a GraphQL client of their API."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.state import open_state
from sandbox.world.tasks.boards import seed

ACCOUNT = "nora.lindqvist@harbourlight.example"


@dataclass
class Boards:
    sandbox: Sandbox
    http: httpx.AsyncClient
    clock: list[float] = field(default_factory=list)

    async def ask(self, document: str, *, version: str = "", **variables: Any) -> dict[str, Any]:
        """Return the whole body of a call that is answered with 200."""
        headers = {"api-version": version} if version else {}
        body = {"query": document, "variables": variables}
        answer = await self.http.post("/tasks/v2", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def data(self, document: str, **variables: Any) -> dict[str, Any]:
        """Return the data of a call without errors."""
        body = await self.ask(document, **variables)
        assert "errors" not in body, body["errors"]
        return body["data"]

    async def error(self, document: str, **variables: Any) -> tuple[str, str]:
        """Return code and message of a call's first error."""
        error = (await self.ask(document, **variables))["errors"][0]
        return error["extensions"]["code"], error["message"]

    def issue(self, *scopes: str, account: str = ACCOUNT) -> dict[str, str]:
        """Return the header of a new token."""
        token = self.sandbox.state.tokens.issue("tasks", account, scopes)
        return {"authorization": token}


@pytest.fixture(scope="session")
def seeded():
    """The demo's boards in a database in memory; each test has a copy."""
    database = open_state(None).database
    seed(database, datetime(2026, 11, 20, tzinfo=UTC))
    return database


@pytest.fixture
async def boards(seeded):
    """The demo's boards as of 20 November 2026, 08:00 UTC; ``clock[0]`` moves the time on."""
    clock = [datetime(2026, 11, 20, 8, tzinfo=UTC).timestamp()]
    state = open_state(None, clock=lambda: clock[0])
    seeded._db.backup(state.database._db)
    sandbox = Sandbox(state, public_base="http://sandbox.test")
    transport = httpx.ASGITransport(app=sandbox)
    async with httpx.AsyncClient(transport=transport, base_url="http://sandbox.test") as http:
        world = Boards(sandbox, http, clock)
        http.headers.update(world.issue())
        yield world
