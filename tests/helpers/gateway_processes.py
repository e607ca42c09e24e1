"""Gateways as operators run them: processes over upstreams in a process of their own."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from database_servers import wait_for
from demo_process import resident
from ports import free_port

from sandbox.state import SandboxState, open_state
from sandbox.world.mail import mailboxes
from sandbox.world.people import STUDIO_ACCOUNT, YARD_ACCOUNT

SECRET = "a-secret-of-the-load-tests"
ADMIN = {"Authorization": f"Bearer {SECRET}"}
PATIENT = (str(Path(__file__).with_name("patient_gateway.py")),)
MESSAGES = "/api/access/email/messages"
# Provider -> the upstream's name, the account, and what its token may do.
MAIL = {
    "PROVIDER_A": ("providerA", YARD_ACCOUNT, ["https://www.googleapis.com/auth/gmail.modify"]),
    "PROVIDER_B": ("providerB", STUDIO_ACCOUNT, ["Mail.ReadWrite", "Mail.Send"]),
}
_hosts = itertools.count(1)


def elsewhere() -> dict[str, str]:
    """Return the header of a client that was not seen yet, for gateways that trust this machine."""
    number = next(_hosts)
    return {"X-Forwarded-For": f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"}


def tell(**figures: object) -> None:
    """Print figures, shown when a test runs with `-s`."""
    sys.stdout.write(f"{json.dumps(figures)}\n")


class Process:
    """A program that listens on a port of its own, and may be killed and started again."""

    def __init__(self, *words: str, folder: Path, **settings: str) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self._command = [sys.executable, *(word.format(port=self.port) for word in words)]
        self._folder = folder
        self._environment = {**os.environ, **settings}
        self.start()

    def start(self) -> None:
        with (self._folder / f"{self.port}.log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._folder, env=self._environment
            )
        try:
            wait_for(self.port, 180)  # on a machine that is busy with other tests
        except OSError:
            self.kill()
            raise

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(120)

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)

    def restart(self) -> None:
        """End it as a service manager does, and start it again."""
        self.end()
        self.start()

    def log(self) -> str:
        return (self._folder / f"{self.port}.log").read_text()

    def resident(self) -> int:
        """Return the bytes of memory that the process holds now."""
        return resident(self.process.pid)


@contextmanager
def serving(
    folder: Path, *words: str, program: tuple[str, ...] = ("-m", "gateway"), **settings: str
) -> Iterator[Process]:
    """Run `serve` in *folder*; *program* is `PATIENT` where only order and counts are tested."""
    defaults = {"AGW_ADMIN_TOKEN": SECRET, "AGW_SECRET_KEYS": SECRET, "AGW_DATA_DIR": str(folder)}
    command = (*program, "serve", "--port", "{port}", *words)
    made = Process(*command, folder=folder, **{**defaults, **settings})
    try:
        yield made
    finally:
        made.end()


@dataclass(frozen=True)
class Upstreams:
    """The sandbox in a process of its own, and the settings that lead a gateway to it."""

    process: Process
    state: SandboxState
    tokens: Mapping[str, str]

    @property
    def settings(self) -> dict[str, str]:
        base = self.process.base
        return {
            "AGW_PROVIDER_A_URL": f"{base}/provider-a",
            "AGW_PROVIDER_B_URL": f"{base}/provider-b",
            "AGW_OAUTH_A_URL": f"{base}/oauth/provider-a/token",
            "AGW_OAUTH_B_URL": f"{base}/oauth/provider-b",
        }


@contextmanager
def upstreams(
    folder: Path,
    *,
    latency: float = 0.0,
    many: bool = False,
    fill: Callable[[SandboxState], None] | None = None,
) -> Iterator[Upstreams]:
    """
    Run the sandbox; *fill* adds to its world.

    With a *latency* (seconds), responses are computed once, then replayed. *many*: its mailbox of
    provider B stands for many, which share no limit.
    """
    store = folder / "sandbox"
    store.mkdir()
    state = open_state(store)
    mailboxes.seed(state.database, state.mails)
    if fill is not None:
        fill(state)
    tokens = {
        provider: state.tokens.issue(name, account, scopes)
        for provider, (name, account, scopes) in MAIL.items()
    }
    script = str(Path(__file__).with_name("sandbox_process.py"))
    words = (str(store), str(latency), *(["many"] if many else []))
    process = Process(script, "{port}", *words, folder=folder)
    try:
        yield Upstreams(process, state, tokens)
    finally:
        process.end()


@dataclass(frozen=True)
class Prepared:
    """The objects that the management API created."""

    operator: str
    resource: int
    connections: Mapping[str, int]
    token: str

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def prepare(base: str, tokens: Mapping[str, str]) -> Prepared:
    """Connect a mailbox of each provider in *tokens* and make a token that may use them."""
    with httpx.Client(base_url=f"{base}/api", headers=ADMIN, timeout=30) as admin:

        def made(kind: str, body: dict[str, Any]) -> Any:
            answer = admin.post(f"/{kind}", json=body)
            answer.raise_for_status()
            return answer.json()

        operator = made("operators", {"email": "o@x.example", "displayName": "O"})["id"]
        resource = made("resources", {"name": "main", "operatorIds": [operator]})["id"]
        connected = {}
        for provider, token in tokens.items():
            connection = {
                "resourceId": resource,
                "operatorId": operator,
                "kind": "email",
                "provider": provider,
                "accountEmail": MAIL[provider][1],
                "grantedScopes": MAIL[provider][2],
                "credentials": {"accessToken": token},
            }
            connected[provider] = made("connections", connection)["id"]
        token = made("access-tokens", token_of(operator, resource))["token"]
    return Prepared(operator, resource, connected, token)


def token_of(operator: str, resource: int) -> dict[str, Any]:
    """Return the body of a token that may do everything with mail."""
    settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"]}
    return {"name": "load", "operatorId": operator, "resourceIds": [resource], "settings": settings}
