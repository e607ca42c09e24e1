"""
The calendars of the tests: two accounts with two calendars each, over the gateway of `world`.

Accounts, events and tokens are created through public interfaces, as in `world`. Dates are relative
to the day on which the run began: `day(0)` is its 00:00 UTC.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import world as worlds
from world import ADMIN, BROKEN, MAIN, ME_A, ME_B, ORIGIN, World

from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    StoredCalendar,
    StoredEvent,
    from_instant,
)

TODAY = datetime.now(UTC).date()
EVERYTHING = {"calendarAccessEnabled": True, "strictParameters": False}
SCOPES = {
    "PROVIDER_A": ["https://www.googleapis.com/auth/calendar.readonly"],
    "PROVIDER_B": ["Calendars.Read", "User.Read"],
}
ACCOUNTS = {"PROVIDER_A": ME_A, "PROVIDER_B": ME_B}
MAILBOXES = {"PROVIDER_A": "provider-a", "PROVIDER_B": "provider-b"}
UPSTREAMS = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}

ANA = Attendee(email="ana@home.example", name="Ana Müller", response="accepted")
BO = Attendee(email="bo@work.example", name="Bo", response="declined")
CARLA = Attendee(email="carla@work.example", name="Carla Ana", response="tentative")
DAN = Attendee(email="dan@else.example")


def day(offset: int = 0) -> datetime:
    """Return 00:00 UTC of `TODAY` and *offset* days."""
    return datetime.combine(TODAY, time(), tzinfo=UTC) + timedelta(days=offset)


def at(offset: int, clock: str) -> datetime:
    """Return a time of day, UTC, *offset* days from `TODAY`."""
    return datetime.combine(day(offset).date(), time.fromisoformat(clock), tzinfo=UTC)


def text(moment_: datetime) -> str:
    """Write a time as the API does."""
    return moment_.strftime("%Y-%m-%dT%H:%M:%SZ")


def meeting(start: datetime, end: datetime, title: str | None, **more: Any) -> EventContent:
    """Write an event of some hours."""
    return EventContent(start=from_instant(start), end=from_instant(end), title=title, **more)


def whole_days(start: int, end: int, title: str, *, zone: str = "UTC", **more: Any) -> EventContent:
    """Write an event of whole days, the last one not part of it."""
    first, last = EventTime(zone, day=day(start).date()), EventTime(zone, day=day(end).date())
    return EventContent(start=first, end=last, title=title, **more)


@dataclass
class Agendas:
    """
    The calendars and events, by names.

    Attributes:
        calendars: "work" and "home" of provider A, "office" and "club" of provider B.
        events: What was planted, as the sandbox keeps it.
        connections: Connection ids by provider.
    """

    world: World
    calendars: dict[str, StoredCalendar]
    events: dict[str, StoredEvent]
    connections: dict[str, int]
    _addresses: Iterator[int] = field(default_factory=lambda: count(1))
    _tokens: dict[str, str] = field(default_factory=dict)

    def plant(self, calendar: str, name: str, content: EventContent, **more: Any) -> StoredEvent:
        """Put an event into a calendar."""
        store = self.world.sandbox.state.calendars
        (made,) = store.add_events(self.calendars[calendar], [NewEvent(content=content, **more)])
        self.events[name] = made
        return made

    async def token(self, *, resources: tuple[int, ...] = (MAIN,), **settings: Any) -> str:
        """Return a token that opens the calendars, with *settings*; equal ones are one."""
        known = repr((resources, sorted(settings.items())))
        if known not in self._tokens:
            body = {
                "name": "test",
                "operatorId": self.world.operator_id,
                "resourceIds": list(resources),
                "settings": {**EVERYTHING, **settings},
            }
            async with self.client(ADMIN) as admin:
                made = await admin.post("/api/access-tokens", json=body)
            assert made.status_code == 201, made.text
            self._tokens[known] = str(made.json()["token"])
        return self._tokens[known]

    async def get(self, path: str, token: str | None = None, **query: Any) -> httpx.Response:
        """Call a path of the calendar surface; parameters are query parameters."""
        used = token or await self.token()
        params = {name.rstrip("_"): str(value) for name, value in query.items()}
        async with self.client(used) as client:
            return await client.get(f"/api/access/calendar{path}", params=params)

    async def ask(self, document: str, token: str | None = None, **variables: Any) -> Any:
        """Run a GraphQL document; return the decoded body."""
        used = token or await self.token()
        async with self.client(used) as client:
            body = {"query": document, "variables": variables}
            return (await client.post("/graphql", json=body)).json()

    def clear(self) -> None:
        """Forget what a test planted, asked for and broke."""
        for event in self.events.values():
            self.world.sandbox.state.calendars.delete(event)
        self.events.clear()
        for upstream in UPSTREAMS.values():
            self.world.sandbox.upstreams[upstream].faults.clear()
        for connection in self.connections.values():
            self.world.gateway.services.accounts.forget(connection)
        self.world.forget_calls()

    def client(self, token: str) -> httpx.AsyncClient:
        """Return a client with an address of its own, so that it meets no address's limit."""
        number = next(self._addresses)
        address = (f"10.0.{number // 250}.{number % 250}", 50_000)
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.world.gateway, client=address),
            base_url=ORIGIN,
            headers={"authorization": f"Bearer {token}"},
        )

    async def ids(self) -> dict[str, int]:
        """Return the calendars' ids by their names."""
        listed = (await self.get("/calendars")).json()["calendars"]
        return {item["calendarName"]: item["calendarId"] for item in listed}

    def calls(self) -> list[dict[str, Any]]:
        """Return the upstream calls since `world.forget_calls`."""
        return self.world.calls()


CALENDARS = {
    "work": ("provider-a", "Me", True, True),
    "home": ("provider-a", "Home", False, True),
    "office": ("provider-b", "Calendar", True, True),
    "club": ("provider-b", "Club", False, True),
}


async def opened(world: World) -> Agendas:
    """Put empty calendars and their connections into *world*."""
    store = world.sandbox.state.calendars
    calendars = {
        name: store.add_calendar(
            mailbox, title, zone="Europe/Stockholm", is_primary=primary, can_edit=editable
        )
        for name, (mailbox, title, primary, editable) in CALENDARS.items()
    }
    connections = {provider: await connect(world, provider, resource=MAIN) for provider in ACCOUNTS}
    world.forget_calls()
    return Agendas(world, calendars, {}, connections)


@asynccontextmanager
async def empty(template: tuple[Path, Any], folder: Path) -> AsyncIterator[Agendas]:
    """Open a world with empty calendars, for a module of tests that clear up."""
    async with worlds.opened(*template, folder / "world") as world:
        yield await opened(world)


@asynccontextmanager
async def open_shared(template: tuple[Path, Any], folder: Path) -> AsyncIterator[Agendas]:
    """Open a world with filled calendars, for a module of tests that change nothing."""
    async with worlds.opened(*template, folder / "world") as world:
        agendas = await opened(world)
        fill(agendas)
        broken = await connect(world, "PROVIDER_A", resource=BROKEN)
        await world.admin.patch(f"/api/connections/{broken}", json={"status": "disabled"})
        yield agendas


async def connect(world: World, provider: str, *, resource: int, **more: Any) -> int:
    """Connect a calendar account; return the connection's id."""
    account = world.sandbox.state.mails.account(MAILBOXES[provider]).email
    scopes = SCOPES[provider]
    issued = world.sandbox.state.tokens.issue(UPSTREAMS[provider], account, scopes)
    body: dict[str, Any] = {
        "resourceId": resource,
        "operatorId": world.operator_id,
        "kind": "calendar",
        "provider": provider,
        "accountEmail": account,
        "grantedScopes": scopes,
        "credentials": {"accessToken": issued},
        **more,
    }
    made = await world.admin.post("/api/connections", json=body)
    assert made.status_code == 201, made.text
    return int(made.json()["id"])


def fill(agendas: Agendas) -> None:
    """Plant what most tests look at."""
    plant = agendas.plant
    plant(
        "work",
        "lease",
        meeting(
            at(1, "09:00"),
            at(1, "10:30"),
            "Lease talk",
            description="Bring the old contract.",
            location="Room 5",
            organiser=ANA,
            attendees=(ANA, BO),
            video_link="https://meet.example/lease",
        ),
    )
    plant("home", "fair", whole_days(2, 4, "Book fair", shows_as="free"))
    plant(
        "office",
        "budget",
        meeting(
            at(1, "08:00"),
            at(1, "09:00"),
            "Budget 2027",
            description="Numbers first.",
            location="Long table",
            organiser=CARLA,
            attendees=(CARLA, DAN),
            categories=("Finance",),
            status="tentative",
            shows_as="tentative",
        ),
    )
    plant(
        "club",
        "training",
        meeting(at(-6, "17:00"), at(-6, "18:00"), "Training"),
        recurrence=Recurrence(rules=("FREQ=WEEKLY;COUNT=4",)),
        overrides=(Override(original=from_instant(at(8, "17:00")), cancelled=True),),
    )
