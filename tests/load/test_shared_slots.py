"""
The concurrent calls of one account, over two gateways, mail and calendar, and several tokens.

The sandbox refuses what exceeds a mailbox's limit, and its list of calls shows it.
`VOLUME_MESSAGES=100000` measures the mailboxes at full size.
"""

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from database_servers import redis_server
from gateway_processes import (
    ADMIN,
    MAIL,
    MESSAGES,
    PATIENT,
    prepare,
    serving,
    tell,
    token_of,
    upstreams,
)

from sandbox.volume import mail
from sandbox.world.calendar import events

pytestmark = pytest.mark.slow

VOLUME_MESSAGES = int(os.environ.get("VOLUME_MESSAGES", "500"))
DELAY = 0.03  # seconds that the upstream takes for a call or a part of a batch
MOST = 4  # calls at once of a mailbox of provider B: docs/spec/upstream/README.md#concurrency
CALENDAR_SCOPES = ["Calendars.Read"]
EVENTS = "/api/access/calendar/events?from=2026-11-01&to=2026-11-30"


def fill(state):
    now = datetime.now(UTC)
    events.seed(state.database, state.calendars, now)
    for mailbox in ("provider-a", "provider-b"):
        mail.fill(state.mails, mailbox, now.date(), messages=VOLUME_MESSAGES)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("slots")
    with redis_server(folder) as redis, upstreams(folder, fill=fill) as upstream:
        settings = {
            **upstream.settings,
            "AGW_REDIS_URL": redis.url,
            "AGW_PROCESSES": "2",
            "AGW_RATE_LIMITS": "off",
        }
        with (
            serving(folder, program=PATIENT, **settings) as first,
            serving(folder, program=PATIENT, **settings) as second,
        ):
            made = prepare(first.base, upstream.tokens)
            yield upstream, (first, second), tokens(first.base, made, upstream)


def tokens(base, made, upstream):
    """Connect the calendar of provider B as well; return the headers of two tokens."""
    account = MAIL["PROVIDER_B"][1]
    calendar = {
        "resourceId": made.resource,
        "operatorId": made.operator,
        "kind": "calendar",
        "provider": "PROVIDER_B",
        "accountEmail": account,
        "grantedScopes": CALENDAR_SCOPES,
        "credentials": {
            "accessToken": upstream.state.tokens.issue("providerB", account, CALENDAR_SCOPES)
        },
    }
    new = token_of(made.operator, made.resource)
    new["settings"]["calendarAccessEnabled"] = True
    with httpx.Client(base_url=f"{base}/api", headers=ADMIN, timeout=30) as admin:
        admin.post("/connections", json=calendar).raise_for_status()
        made_tokens = [admin.post("/access-tokens", json=new).json()["token"] for _ in range(2)]
    return [{"Authorization": f"Bearer {token}"} for token in made_tokens]


class Log:
    """The sandbox's list of calls, from now on."""

    def __init__(self, upstream, delay=DELAY):
        self._base = upstream.process.base
        for name in ("providerA", "providerB"):
            fault = {"kind": "slow", "delay": delay}
            httpx.put(f"{self._base}/faults/{name}", json=fault).raise_for_status()
            httpx.delete(f"{self._base}/calls/{name}").raise_for_status()

    def calls(self, name):
        return httpx.get(f"{self._base}/calls/{name}", timeout=30).json()["calls"]

    def refusals(self):
        calls = [*self.calls("providerA"), *self.calls("providerB")]
        return [call for call in calls if call["fault"] not in (None, "slow")]


async def get(gateway, headers, path):
    async with httpx.AsyncClient(base_url=gateway.base, headers=headers, timeout=300) as client:
        answer = await client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def cpu_seconds(gateway):
    """Return the processor time that a gateway has taken, from fields 14 and 15 of proc(5) stat."""
    fields = Path(f"/proc/{gateway.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


async def test_two_gateways_never_exceed_the_limit_of_a_mailbox(world):
    upstream, gateways, callers = world
    log = Log(upstream)

    calls = [
        get(gateway, headers, path)
        for gateway in gateways
        for headers in callers
        for path in (f"{MESSAGES}?limit=25&q=booking", f"{MESSAGES}?limit=5", EVENTS) * 2
    ]
    pages = await asyncio.gather(*calls)

    assert [page["warnings"] for page in pages if page.get("warnings")] == []
    assert log.refusals() == []
    assert max(call["running"] for call in log.calls("providerB")) == MOST


async def test_a_gateway_has_all_slots_while_the_other_is_idle(world):
    upstream, (busy, _), callers = world
    page = await get(busy, callers[0], f"{MESSAGES}?limit=16")
    ids = [message["id"] for message in page["emails"]]
    log = Log(upstream, delay=1.0)  # on a busy machine a grant may take a while

    await asyncio.gather(*(get(busy, callers[0], f"{MESSAGES}/{each}") for each in ids))

    assert log.refusals() == []
    assert max(call["running"] for call in log.calls("providerB")) == MOST


async def test_three_callers_page_through_50_mails_without_an_inner_throttle(world):
    upstream, (gateway, _), callers = world
    log = Log(upstream)
    cpu, began = cpu_seconds(gateway), time.monotonic()

    async def page_through():
        first = await get(gateway, callers[0], f"{MESSAGES}?limit=25")
        second = await get(
            gateway, callers[0], f"{MESSAGES}?limit=25&pageToken={first['nextPageToken']}"
        )
        return [message["id"] for page in (first, second) for message in page["emails"]]

    read = await asyncio.gather(*(page_through() for _ in range(3)))

    seconds, cpu = time.monotonic() - began, cpu_seconds(gateway) - cpu
    calls = log.calls("providerA")
    tell(
        messages_per_mailbox=VOLUME_MESSAGES,
        seconds=round(seconds, 2),
        cpu_seconds=round(cpu, 2),
        units=sum(call["units"] for call in calls),
        calls=len(calls) + len(log.calls("providerB")),
    )
    assert [len(set(ids)) for ids in read] == [50, 50, 50]
    assert read[0] == read[1] == read[2]
    assert log.refusals() == []
    assert sum(call["units"] for call in calls) < 6000  # the allowance of a user per minute
