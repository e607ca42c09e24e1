"""The merged calendars of both providers over the sandbox, without a gateway."""

from contextlib import asynccontextmanager

from in_memory_calendars import MemoryIds

from providers import registry
from providers.calendar.merged_calendars import MergedCalendars
from providers.http.client import Origins
from providers.ports.connection import ConnectionInfo
from sandbox import app as sandbox

BASE = "http://upstream.example"
WIRES = {
    "PROVIDER_A": ("provider-a", "providerA", ["https://www.googleapis.com/auth/calendar"]),
    "PROVIDER_B": ("provider-b", "providerB", ["Calendars.ReadWrite", "User.Read"]),
}


class Held:
    """Credentials that never change."""

    scheme = "Bearer"

    def __init__(self, text):
        self._text = text

    async def token(self, *, rejected=None):
        return self._text


class SandboxCalendars(MergedCalendars):
    """The calendars as a request sees them."""

    def __init__(self, connections, ids):
        super().__init__(connections, ids)
        self._arguments = connections, ids

    def of_another_request(self):
        """Return the same calendars without what is kept for a request."""
        return SandboxCalendars(*self._arguments)


@asynccontextmanager
async def opened(fill):
    """
    Open the calendars of both providers; yield them and the sandbox.

    ``fill(store, mailbox, owner)`` makes the calendars of one account.
    """
    upstream = sandbox.create(None, public_base=BASE)
    origins = Origins(apps={BASE: upstream})
    connections = []
    for number, (provider, (mailbox, name, scopes)) in enumerate(WIRES.items(), 1):
        account = upstream.state.mails.account(mailbox).email
        fill(upstream.state.calendars, mailbox, account)
        info = ConnectionInfo(
            id=number,
            resource_id=1,
            kind="calendar",
            provider=provider,
            account_email=account,
            base_url=f"{BASE}/{mailbox}",
        )
        held = Held(upstream.state.tokens.issue(name, account, scopes))
        way = registry.open_upstream(origins, info, held)
        connections.append((info, registry.PortRegistry(lambda _, way=way: way).open(info)))
    try:
        yield SandboxCalendars(connections, MemoryIds()), upstream
    finally:
        await origins.aclose()


def paths(upstream):
    """Return method and last path segment of each call, and forget them."""
    calls = [
        (call["method"], call["path"].rsplit("/", 1)[-1])
        for name in ("providerA", "providerB")
        for call in upstream.upstreams[name].calls
    ]
    for served in upstream.upstreams.values():
        served.calls.clear()
    return calls
