"""
Plugin of pytest: the calendars of `calendar_world` are on CalDAV servers.

The sandbox's store stays what tests write to; each change of it is written to the servers as well,
one server for each of its two accounts, and the gateway is connected to the servers. The variable
`CALDAV_SUITE` names the server: "radicale" or "xandikos". With `CALDAV_SUITE_CALLS=ignored` tests
see no upstream calls.
"""

import os
from contextlib import ExitStack
from functools import wraps

# Helpers are imported late: `conftest` registers them first, so that their assertions are shown.
_MAILBOXES = ("provider-a", "provider-b")


class Mirror:
    """Writes the sandbox's calendars to two servers, and records the gateway's calls."""

    def __init__(self):
        self._stack = ExitStack()
        self.servers = {}
        self.calls = []
        self._calendars = {}
        self._objects = {}

    def start(self, name):
        from caldav_servers import caldav_server

        for mailbox in _MAILBOXES:
            self.servers[mailbox] = self._stack.enter_context(caldav_server(name))
            if name == "xandikos":
                self.servers[mailbox].delete(f"{self.servers[mailbox].home}calendar/")

    def stop(self):
        self._stack.close()

    def clear(self):
        for mailbox, path in self._calendars.values():
            self.servers[mailbox].delete(path)
        self._calendars.clear()
        self._objects.clear()

    def calendar(self, stored):
        from ical_texts import zone_definition

        known = self._calendars.get(stored.seq)
        if stored.is_deleted and known:
            self.servers[stored.mailbox].delete(known[1])
            del self._calendars[stored.seq]
            gone = [seq for seq, place in self._objects.items() if place.startswith(known[1])]
            for seq in gone:
                del self._objects[seq]
        elif stored.mailbox in self.servers and not known:
            server, name = self.servers[stored.mailbox], f"{stored.seq:04}"
            path = server.add_calendar(name, stored.name, zone=zone_definition(stored.zone))
            self._calendars[stored.seq] = stored.mailbox, path

    def event(self, event):
        from ical_texts import calendar_file

        if event.calendar not in self._calendars:
            return
        mailbox, path = self._calendars[event.calendar]
        place = f"{path}{event.seq:06}.ics"
        if not event.is_deleted:
            # The other providers name the account where nobody else organises an event.
            owner = f"me@{mailbox}.example"
            self.servers[mailbox].put(place, calendar_file(event, owner=owner))
            self._objects[event.seq] = place
        elif self._objects.pop(event.seq, None):
            self.servers[mailbox].delete(place)


mirror = Mirror()


def pytest_configure():
    import calendar_world
    import world as worlds

    from sandbox.calendar.store import CalendarStore

    mirror.start(os.environ["CALDAV_SUITE"])
    _after(CalendarStore, "put_calendar", mirror.calendar)
    _after(CalendarStore, "add_events", lambda events: [mirror.event(event) for event in events])
    _after(CalendarStore, "put", mirror.event)
    calendar_world.opened = _opened(calendar_world.opened)
    calendar_world.connect = _connect
    watches_calls = os.environ.get("CALDAV_SUITE_CALLS") != "ignored"
    calendar_world.Agendas.calls = lambda _agendas: list(mirror.calls) if watches_calls else []
    forget = worlds.World.forget_calls

    def forget_calls(world):
        forget(world)
        mirror.calls.clear()

    worlds.World.forget_calls = forget_calls


def pytest_unconfigure():
    mirror.stop()


def _after(owner, name, then):
    original = getattr(owner, name)

    @wraps(original)
    def called(*arguments, **options):
        result = original(*arguments, **options)
        then(result)
        return result

    setattr(owner, name, called)


def _opened(original):
    async def opened(world):
        mirror.clear()
        origins = world.gateway.services.accounts.origins
        origins.listener = lambda event: mirror.calls.append(
            {"method": event.method, "path": event.upstream, "query": ""}
        )
        return await original(world)

    return opened


async def _connect(world, provider, *, resource, **more):
    from caldav_servers import PASSWORD, USER
    from calendar_world import MAILBOXES

    mailbox = MAILBOXES[provider]
    body = {
        "resourceId": resource,
        "operatorId": world.operator_id,
        "kind": "calendar",
        "provider": "CALDAV",
        "accountEmail": world.sandbox.state.mails.account(mailbox).email,
        "baseUrl": mirror.servers[mailbox].url,
        "credentials": {"username": USER, "password": PASSWORD},
        **more,
    }
    made = await world.admin.post("/api/connections", json=body)
    assert made.status_code == 201, made.text
    return int(made.json()["id"])
