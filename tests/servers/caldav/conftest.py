"""Radicale and Xandikos for the tests of a module, with calendars that are connected."""

from dataclasses import dataclass

import pytest
from caldav_servers import PASSWORD, USER, CaldavServer, caldav_server


@pytest.fixture(autouse=True)
def _trusted():
    """Need no mail server, unlike the tests of the folder above."""


@pytest.fixture(
    scope="module", params=["radicale", pytest.param("xandikos", marks=pytest.mark.slow)]
)
def server(request):
    with caldav_server(request.param) as server:
        yield server


@dataclass
class ConnectedCalendar:
    """An empty calendar beside another one, and a client of the gateway that may read both."""

    server: CaldavServer
    path: str
    client: object
    connection: int
    calls: list

    async def events(self, **query):
        params = {name.rstrip("_"): value for name, value in query.items()}
        return await self.client.get("/api/access/calendar/events", params=params)

    async def busy(self, start, end):
        params = {"from": start, "to": end}
        return await self.client.get("/api/access/calendar/freebusy", params=params)

    def put(self, name, *components):
        """Store events, each given by its lines."""
        self.server.put(f"{self.path}{name}.ics", calendar_text(name, *components))

    def forget_calls(self):
        self.calls.clear()


def calendar_text(uid, *components):
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN"]
    for component in components:
        lines += ["BEGIN:VEVENT", f"UID:{uid}", "DTSTAMP:20260101T000000Z"]
        lines += [line.strip() for line in component.strip().splitlines()]
        lines.append("END:VEVENT")
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


@pytest.fixture
def connect(world, server):
    """Connect the server by the management API; return the answer."""

    async def connect(**changes):
        body = {
            "resourceId": 1,
            "operatorId": world.operator_id,
            "kind": "calendar",
            "provider": "CALDAV",
            "accountEmail": "ada@example.test",
            "baseUrl": server.url,
            "credentials": {"username": USER, "password": PASSWORD},
        }
        return await world.admin.post("/api/connections", json={**body, **changes})

    return connect


@pytest.fixture
async def calendar(world, server, connect):
    path = server.add_calendar("work", "Work & more")
    other = server.add_calendar("other", "Other")
    created = await connect()
    assert created.status_code == 201, created.text
    token = await world.token({"calendarAccessEnabled": True})
    calls = []
    listener = world.gateway.services.accounts.origins
    listener.listener = lambda event: calls.append((event.method, event.outcome))
    async with world.client(token) as client:
        yield ConnectedCalendar(server, path, client, created.json()["id"], calls)
    server.delete(path)
    server.delete(other)
