"""The demo's projects and a client of their API."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.projects.store import ProjectStore
from sandbox.state import open_state
from sandbox.world.tasks.projects import ProjectFacts, seed

BASE = "http://sandbox.test/projects/api/1.0"


@dataclass
class Projects:
    sandbox: Sandbox
    store: ProjectStore
    facts: ProjectFacts
    http: httpx.AsyncClient
    clock: list[float]

    @property
    def pavilion(self) -> str:
        return self.facts.projects["Corniche pavilion"]

    async def get(self, path: str, **query: Any) -> Any:
        """Return the data of a call that is answered with 200."""
        answer = await self.http.get(f"{BASE}{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]

    async def send(self, method: str, path: str, status: int = 200, **data: Any) -> Any:
        """Return the data of a write that is answered with *status*."""
        answer = await self.http.request(method, f"{BASE}{path}", json={"data": data})
        assert answer.status_code == status, answer.text
        return answer.json()["data"]

    async def error(self, method: str, path: str, **content: Any) -> tuple[int, str]:
        """Return status and message of a call that fails."""
        answer = await self.http.request(method, f"{BASE}{path}", **content)
        (error,) = answer.json()["errors"]
        return answer.status_code, error["message"]

    def issue(self, *scopes: str, account: str = "nora@harbourlight-studio.example"):
        token = self.sandbox.state.tokens.issue("projects", account, scopes)
        return {"authorization": f"Bearer {token}"}

    def field(self, name: str):
        return next(field for field in self.store.fields.all() if field.name == name)


@pytest.fixture
async def projects():
    """The demo's projects as of 20 November 2026, 08:00 UTC; ``clock[0]`` moves the time on."""
    clock = [datetime(2026, 11, 20, 8, tzinfo=UTC).timestamp()]
    state = open_state(None, clock=lambda: clock[0])
    sandbox = Sandbox(state, public_base="http://sandbox.test")
    facts = seed(state.database, datetime(2026, 11, 20, tzinfo=UTC))
    transport = httpx.ASGITransport(app=sandbox)
    async with httpx.AsyncClient(transport=transport) as http:
        store = ProjectStore(state.database, clock=state.clock)
        world = Projects(sandbox, store, facts, http, clock)
        http.headers.update(world.issue())
        yield world
