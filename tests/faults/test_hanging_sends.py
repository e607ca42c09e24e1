"""A send over an upstream that hangs is answered within 35 seconds, as of unknown outcome."""

import asyncio
import time

import httpx
import pytest
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, token_of, upstreams

pytestmark = pytest.mark.slow

MOST_SECONDS = 35
HANGING = 120  # seconds, longer than anybody waits
FAULTS = [
    {"kind": "slow", "delay": HANGING, "method": method, "match": match}
    for method, match in (("POST", "send"), ("GET", ""))  # the sends and the look-ups
]
SEND = {"to": [{"email": "a@example.org"}], "subject": "Keel", "body": "Hello", "bodyType": "text"}


async def test_a_hanging_upstream_is_answered_in_time(tmp_path):
    with upstreams(tmp_path) as upstream, serving(tmp_path, **upstream.settings) as gateway:
        made = prepare(gateway.base, upstream.tokens)
        hang(upstream.process.base)

        answers = await asyncio.gather(
            *(send(gateway.base, made, connection) for connection in made.connections.values())
        )

    tell(seconds=[round(seconds, 1) for *_, seconds in answers])
    assert [(status, error) for status, error, _ in answers] == [(504, "OUTCOME_UNKNOWN")] * 2
    assert max(seconds for *_, seconds in answers) < MOST_SECONDS


def hang(base):
    """Let the mailboxes answer neither sends nor reads."""
    for name in ("providerA", "providerB"):
        httpx.put(f"{base}/faults/{name}", json=FAULTS).raise_for_status()


async def send(base, made, connection):
    """Send by one of the mailboxes; return the status, the code, and the seconds it took."""
    body = token_of(made.operator, made.resource)
    body["settings"]["allowedConnectionIds"] = [connection]
    async with httpx.AsyncClient(base_url=base, timeout=HANGING) as client:
        token = (await client.post("/api/access-tokens", json=body, headers=ADMIN)).json()["token"]
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": str(connection)}
        began = time.monotonic()
        answer = await client.post(f"{MESSAGES}/send", json=SEND, headers=headers)
    return answer.status_code, answer.json()["error"], time.monotonic() - began
