"""
Sends under idempotency keys from an own server while the gateway is killed: each exactly once.

    python tests/faults/exactly_once_by_smtp.py --keys 500 --kills 30

Dovecot keeps the sender's mailbox, Postfix takes its mail and delivers it to another one. One
gateway is killed (SIGKILL) and started again. Every key is tried until it is answered 200, or 504
`OUTCOME_UNKNOWN`: the process died within the instant in which the last line of the message was
sent, and the server knows more than the gateway can ask. Then the deliveries in Postfix's own log
are counted by the key in their subject: 0 duplicates; 0 missing, an unknown one may be either. The
Sent folder has one copy of each answered message. Exit status 0 says so.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sized
from functools import partial
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from dovecot import DOMAIN, Dovecot, dovecot_server
from fault_schedule import LEASE, Observed, Server
from ports import free_port
from postfix import Postfix, postfix_server

ADMIN = "an-admin-token-of-this-run"
MESSAGES = "/api/access/email/messages"
AT_ONCE = 8  # keys
MOST_TRIES = 1000  # of a key; the lease of a dead try takes some forty
ANSWER_SECONDS = 60.0


def main() -> int:
    """Run; print the figures; 0 when nothing was doubled, lost or filed twice."""
    wanted = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    wanted.add_argument("--keys", type=int, default=500)
    wanted.add_argument("--kills", type=int, default=30)
    wanted.add_argument("--lease", type=float, default=LEASE, help="Seconds.")
    args = wanted.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="exactly-once-") as folder,
        dovecot_server(max_connections=50) as dovecot,
        postfix_server(dovecot) as postfix,
    ):
        server = Server(
            Path(folder), free_port(), settings(Path(folder), dovecot), Observed(), lease=args.lease
        )
        return asyncio.run(send_all(server, dovecot, postfix, args.keys, args.kills))


def settings(folder: Path, dovecot: Dovecot) -> dict[str, str]:
    """Return the settings of the gateway."""
    return {
        "AGW_DATA_DIR": str(folder / "gateway"),
        "AGW_ADMIN_TOKEN": ADMIN,
        "AGW_SECRET_KEYS": "a secret key of this run, not used elsewhere",
        "AGW_RATE_LIMIT_WINDOWS": json.dumps(
            {name: [[1_000_000, 60]] for name in ("email", "graphql", "management")}
        ),
        "AGW_LOG_LEVEL": "error",
        "SSL_CERT_FILE": str(dovecot.certificate),
    }


async def send_all(
    server: Server, dovecot: Dovecot, postfix: Postfix, keys: int, kills: int
) -> int:
    """Send every key's message while the gateway is killed; count."""
    began = time.monotonic()
    await server.start()
    answers: dict[int, httpx.Response] = {}
    statuses: Counter[str] = Counter()
    try:
        token, connection = await prepare(server.base, dovecot, postfix)
        places, advanced = asyncio.Semaphore(AT_ONCE), asyncio.Condition()
        async with httpx.AsyncClient(timeout=ANSWER_SECONDS, base_url=server.base) as client:

            async def deliver(key: int) -> None:
                for _ in range(MOST_TRIES):
                    async with places:
                        answer = await attempt(client, token, connection, key)
                    status = "none" if answer is None else str(answer.status_code)
                    statuses[status] += 1
                    if answer is not None and answer.status_code in {200, 504}:
                        async with advanced:
                            answers[key] = answer
                            advanced.notify_all()
                        return
                    await asyncio.sleep(random.uniform(0.5, 1.5))

            async def kill() -> None:
                for number in range(kills):
                    async with advanced:
                        await advanced.wait_for(
                            partial(_is_reached, answers, keys * number // (kills + 1))
                        )
                    await asyncio.sleep(random.uniform(0.0, 0.3))
                    await server.kill()
                    await server.start()

            await asyncio.gather(kill(), *(deliver(key) for key in range(keys)))
    finally:
        await server.end()
    await asyncio.sleep(2)  # the queue
    sys.stdout.write(f"{time.monotonic() - began:.0f} s, tries: {dict(statuses)}\n")
    return report(keys, answers, dovecot, postfix)


def _is_reached(answers: Sized, count: int) -> bool:
    return len(answers) >= count


async def prepare(base: str, dovecot: Dovecot, postfix: Postfix) -> tuple[str, int]:
    """Connect the mailbox; return an access token and the connection's id."""
    headers = {"authorization": f"Bearer {ADMIN}"}
    async with httpx.AsyncClient(
        base_url=f"{base}/api", headers=headers, timeout=ANSWER_SECONDS
    ) as admin:

        async def made(kind: str, body: dict[str, Any]) -> Any:
            answer = await admin.post(f"/{kind}", json=body)
            assert answer.status_code == 201, answer.text
            return answer.json()

        operator = (await made("operators", {"email": "o@x.example", "displayName": "O"}))["id"]
        resource = (await made("resources", {"name": "main", "operatorIds": [operator]}))["id"]
        login = {"username": f"ada@{DOMAIN}", "password": "ada-secret"}
        connection = await made(
            "connections",
            {
                "resourceId": resource,
                "operatorId": operator,
                "kind": "email",
                "provider": "IMAP",
                "accountEmail": f"ada@{DOMAIN}",
                "baseUrl": dovecot.url(),
                "credentials": {**login, "submissionUrl": postfix.url()},
            },
        )
        settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
        token = {"name": "t", "operatorId": operator, "resourceIds": [resource]}
        token = await made("access-tokens", {**token, "settings": settings})
        return token["token"], connection["id"]


async def attempt(
    client: httpx.AsyncClient, token: str, connection: int, key: int
) -> httpx.Response | None:
    body = {
        "to": [{"email": f"ben@{DOMAIN}"}],
        "subject": f"key-{key}-end",
        "body": "Once.",
        "connectionId": connection,
    }
    headers = {"authorization": f"Bearer {token}", "idempotency-key": f"key-{key}"}
    with contextlib.suppress(httpx.HTTPError):
        return await client.post(f"{MESSAGES}/send", json=body, headers=headers)
    return None


def report(
    keys: int, answers: dict[int, httpx.Response], dovecot: Dovecot, postfix: Postfix
) -> int:
    """Print the figures; 0 when they are as promised."""
    delivered = Counter(
        subject for subject, to in postfix.delivered_subjects() if to == f"ben@{DOMAIN}"
    )
    sent = {key for key, answer in answers.items() if answer.status_code == 200}
    unknown = set(answers) - sent
    duplicates = {key for key in range(keys) if delivered[f"key-{key}-end"] > 1}
    missing = {key for key in sent if not delivered[f"key-{key}-end"]}
    filed = dovecot.subjects("ada", "Sent")
    twice = [subject for subject, count in filed.items() if count > 1]
    unfiled = [key for key in sent if not filed[f"key-{key}-end"]]
    arrived = sum(delivered[f"key-{key}-end"] for key in unknown)
    sys.stdout.write(
        f"{keys} keys: {len(sent)} answered 200, {len(unknown)} unknown"
        f" ({arrived} of them delivered), {len(duplicates)} duplicates, {len(missing)} missing;"
        f" Sent folder: {len(twice)} doubled, {len(unfiled)} without a copy\n"
    )
    complete = len(answers) == keys
    return int(bool(duplicates or missing or twice or unfiled) or not complete)


if __name__ == "__main__":
    sys.exit(main())
