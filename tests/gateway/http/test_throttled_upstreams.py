"""Waits told to clients while an upstream throttles without naming a time, on every upstream."""

import asyncio

import pytest
import pytest_asyncio
import seeded_sandbox

from gateway.app import assemble
from gateway.http.sandbox_mount import in_process
from providers.http.origins import Origins
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

BASE = "http://gateway.test"
GOOGLE = "https://www.googleapis.com/auth/"
MESSAGES = "/api/access/email/messages?limit=1"
EVENTS = "/api/access/calendar/events?from=2026-11-20&to=2026-11-21"
# Name -> upstream, kind, provider, account, scopes, a call of the surface.
UPSTREAMS = {
    "gmail": (
        *("providerA", "email", "PROVIDER_A", YARD_ACCOUNT),
        *([f"{GOOGLE}gmail.modify"], MESSAGES),
    ),
    "google-calendar": (
        *("providerA", "calendar", "PROVIDER_A", YARD_ACCOUNT),
        *([f"{GOOGLE}calendar.readonly"], EVENTS),
    ),
    "outlook-mail": (
        *("providerB", "email", "PROVIDER_B", STUDIO_ACCOUNT),
        *(["Mail.ReadWrite", "User.Read"], MESSAGES),
    ),
    "outlook-calendar": (
        *("providerB", "calendar", "PROVIDER_B", STUDIO_ACCOUNT),
        *(["Calendars.Read", "User.Read"], EVENTS),
    ),
    "content": (
        *("collab", "collab", "COLLAB", STUDIO_ACCOUNT),
        *(["Files.ReadWrite.All", "Sites.ReadWrite.All"], "/api/access/collab/sites"),
    ),
    "boards": (
        *("tasks", "tasks", "BOARDS", YARD_ACCOUNT),
        *(["me:read", "boards:read", "users:read", "workspaces:read"], "/api/access/tasks/boards"),
    ),
    "projects": (
        *("projects", "tasks", "PROJECTS", STUDIO_ACCOUNT),
        *(["default"], "/api/access/tasks/boards"),
    ),
}
GROWING = [1, 2, 4, 8, 16, 32, 60, 60]


class MovedClock:
    """A clock that stands still until it is moved; nobody sleeps by it."""

    def __init__(self):
        self.at = 1000.0

    def monotonic(self):
        return self.at

    def now(self):
        return 1_795_000_000.0 + self.at

    async def sleep(self, seconds):
        self.at += seconds
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def time():
    return MovedClock()


@pytest.fixture(scope="module")
def sandbox(sandbox):
    return seeded_sandbox.fill(sandbox)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def gateway(settings, sandbox, time):
    mounted = settings.model_copy(
        update={"sandbox": True, "public_url": BASE, "not_found_step_ms": 0}
    )
    origins = Origins(apps=in_process(mounted.origin, sandbox), clock=time)
    async with assemble(mounted, sandbox=sandbox, origins=origins).running() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module", params=UPSTREAMS.values(), ids=UPSTREAMS)
async def throttling(request, gateway, admin, new_token, sandbox):
    """Connect an account; return a call of its surface, and the upstream's name."""
    upstream, kind, provider, account, scopes, path = request.param
    token = sandbox.state.tokens.issue(upstream, account, scopes)
    connection = {
        "resourceId": new_token["resourceIds"][0],
        "operatorId": new_token["operatorId"],
        "kind": kind,
        "provider": provider,
        "accountEmail": account,
        "grantedScopes": scopes,
        "credentials": {"accessToken": token},
    }
    made = (await admin.post("/api/connections", json=connection)).json()["id"]
    gateway.services.accounts.forget(made)  # an id of an earlier test
    allowed = {f"{kind}AccessEnabled": True}
    if kind == "tasks":
        allowed = {"allowedTaskOperations": ["all"]}
    new = {**new_token, "settings": allowed}
    bearer = (await admin.post("/api/access-tokens", json=new)).json()["token"]

    async def call():
        answer = await admin.get(path, headers={"Authorization": f"Bearer {bearer}"})
        return answer.status_code, int(answer.headers.get("retry-after", 0)), answer.text

    yield call, upstream
    sandbox.upstreams[upstream].faults.clear()


async def waits(call, time, count):
    """Return the waits of *count* refused calls, each made when the wait before is over."""
    seconds_waited = []
    for _ in range(count):
        status, seconds, text = await call()
        assert status == 429, text
        seconds_waited.append(seconds)
        time.at += seconds
    return seconds_waited


@pytest.mark.slow
async def test_waits_grow_to_a_minute_and_a_success_resets_them(admin, throttling, time):
    call, upstream = throttling
    fault = {"kind": "429"}
    await admin.put(f"/sandbox/faults/{upstream}", json=fault)

    assert await waits(call, time, len(GROWING)) == GROWING

    await admin.delete(f"/sandbox/faults/{upstream}")
    status, _, text = await call()
    assert status == 200, text
    await admin.put(f"/sandbox/faults/{upstream}", json=fault)
    assert await waits(call, time, 2) == GROWING[:2]


async def test_during_a_wait_nothing_is_called(admin, throttling, time, sandbox):
    call, upstream = throttling
    await admin.put(f"/sandbox/faults/{upstream}", json={"kind": "429"})
    await waits(call, time, 4)
    assert (await call())[:2] == (429, 16)
    calls = sandbox.upstreams[upstream].calls
    calls.clear()
    time.at += 5.5

    assert (await call())[:2] == (429, 11)
    assert list(calls) == []
