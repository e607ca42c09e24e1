"""
The collaboration content over sockets: its sandbox and a gateway, each in its own process.

    python tests/faults/content_processes.py sandbox PORT FOLDER
    python tests/faults/content_processes.py gateway PORT [before|after]

The sandbox outlives the gateway, which may be told to kill itself (SIGKILL) before the call that
makes something, or after it, when upstream has made it and the rule is not stored yet.
"""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

from ports import free_port

HERE = Path(__file__).resolve()
ADMIN = "an-admin-token-of-this-run"
ANN = "ann@x.example"
SCOPES = ["Files.ReadWrite.All", "Sites.ReadWrite.All", "SensitivityLabel.Read"]


@dataclass
class Processes:
    """
    Both processes.

    Attributes:
        ids: The API's ids by the names of `content_world`.
        files: Where the sandbox keeps its bytes.
    """

    folder: Path
    upstream: str
    base: str
    ids: dict[str, str]
    upstream_token: str
    gateway: subprocess.Popen[bytes] | None = None
    resource: int = 0
    operator: str = ""

    def start(self, dies: str = "") -> None:
        """Start the gateway, and wait until it answers."""
        port = self.base.rpartition(":")[2]
        with (self.folder / "gateway.log").open("ab") as log:
            self.gateway = subprocess.Popen(
                [sys.executable, HERE, "gateway", port, *([dies] if dies else [])],
                env=_environment(self),
                stdout=log,
                stderr=log,
            )
        answering(f"{self.base}/healthz", self.gateway)

    def stop(self, by: signal.Signals = signal.SIGTERM) -> int:
        """End the gateway; return its exit status."""
        assert self.gateway is not None
        with contextlib.suppress(ProcessLookupError):
            self.gateway.send_signal(by)
        return self.gateway.wait(120)

    def died(self) -> int:
        """Wait for the gateway to end by itself; return its exit status."""
        assert self.gateway is not None
        return self.gateway.wait(120)

    def admin(self) -> httpx.Client:
        """Return a client of the management API."""
        headers = {"authorization": f"Bearer {ADMIN}"}
        return httpx.Client(base_url=f"{self.base}/api", headers=headers, timeout=30)

    def client(self, token: str) -> httpx.Client:
        """Return a client of the surface that calls with *token*."""
        headers = {"authorization": f"Bearer {token}"}
        return httpx.Client(base_url=f"{self.base}/api/access/collab", headers=headers, timeout=120)

    def prepare(self) -> None:
        """Make operator, resource and connection."""
        with self.admin() as admin:
            self.operator = _made(admin, "operators", {"email": "o@x.example", "displayName": "O"})
            body = {"name": "main", "operatorIds": [self.operator]}
            self.resource = _made(admin, "resources", body)
            connection = {
                "resourceId": self.resource,
                "operatorId": self.operator,
                "kind": "collab",
                "provider": "COLLAB",
                "mode": "delegated",
                "accountEmail": ANN,
                "grantedScopes": SCOPES,
                "credentials": {"accessToken": self.upstream_token},
            }
            _made(admin, "connections", connection)

    def token(self, *rules: tuple[str, str]) -> tuple[int, str]:
        """Make a token that sees what allow *rules* (type, pattern) name; return id and text."""
        body = {
            "name": "run",
            "operatorId": self.operator,
            "resourceIds": [self.resource],
            "settings": {"collabAccessEnabled": True, "allowedCollabOperations": ["all"]},
        }
        wanted = [
            {"ruleType": kind, "pattern": pattern, "action": "allow"} for kind, pattern in rules
        ]
        with self.admin() as admin:
            made = admin.post("/access-tokens", json=body).raise_for_status().json()
            path = f"/access-tokens/{made['id']}/collab-rules"
            admin.put(path, json={"rules": wanted}).raise_for_status()
        return int(made["id"]), str(made["token"])

    def own_rules(self, token_id: int) -> list[dict[str, Any]]:
        """Return the rules that a token got for what it made."""
        with self.admin() as admin:
            listed = admin.get(f"/access-tokens/{token_id}/collab-rules").raise_for_status()
        return [rule for rule in listed.json()["rules"] if rule["source"] == "auto"]

    def names(self, folder: str) -> dict[str, int]:
        """Return what upstream has in a folder: name -> size."""
        drive, _, item = self.ids[folder].removeprefix("collab:drive:").partition(":item:")
        with httpx.Client(headers={"authorization": f"Bearer {self.upstream_token}"}) as direct:
            url = f"{self.upstream}/collab/v1.0/drives/{drive}/items/{item}/children?$top=200"
            listed = direct.get(url).raise_for_status().json()["value"]
        return {file["name"]: file.get("size", 0) for file in listed}


@contextmanager
def opened(folder: Path) -> Iterator[Processes]:
    """Start the sandbox over a fresh world in *folder*; the gateway is the caller's to start."""
    ports = free_port(), free_port()
    upstream, base = (f"http://127.0.0.1:{port}" for port in ports)
    store = folder / "sandbox"
    store.mkdir()
    with (folder / "sandbox.log").open("ab") as log:
        sandbox = subprocess.Popen(
            [sys.executable, HERE, "sandbox", str(ports[0]), store], stdout=log, stderr=log
        )
    both: Processes | None = None
    try:
        answering(f"{upstream}/", sandbox)
        prepared = json.loads((store / "told.json").read_text())
        both = Processes(folder, upstream, base, prepared["ids"], prepared["token"])
        yield both
    finally:
        if both is not None and both.gateway is not None and both.gateway.poll() is None:
            both.stop()
        sandbox.terminate()
        sandbox.wait(60)


def answering(url: str, process: subprocess.Popen[bytes], seconds: float = 120) -> None:
    """Wait until *url* is answered by *process*."""
    until = time.monotonic() + seconds
    while True:
        try:
            httpx.get(url)
        except httpx.HTTPError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{url} is not answered") from None
            time.sleep(0.05)
        else:
            return


def _made(admin: httpx.Client, kind: str, body: dict[str, Any]) -> Any:
    return admin.post(f"/{kind}", json=body).raise_for_status().json()["id"]


def _environment(both: Processes) -> dict[str, str]:
    return {
        **os.environ,
        "AGW_DATA_DIR": str(both.folder / "gateway"),
        "AGW_ADMIN_TOKEN": ADMIN,
        "AGW_SECRET_KEYS": "a secret key of this run, not used elsewhere",
        "AGW_COLLAB_URL": f"{both.upstream}/collab",
        "AGW_RATE_LIMITS": "off",
        "AGW_LOG_LEVEL": "warning",
    }


def serve_sandbox(port: int, folder: Path) -> None:
    """Serve the content of `content_world` over a store in *folder*; write its ids to a file."""
    import content_world

    from gateway.server import bind, run_app
    from sandbox.app import create
    from sandbox.collab.builders import ContentBuilder

    listener, base = bind("127.0.0.1", port)
    # Pre-authenticated addresses on another origin would have to be https.
    app = create(folder, public_base=base, content_base=base)
    shelf = app.state.content
    shelf.refresh()
    make = ContentBuilder(shelf, when=content_world.WHEN, author=ANN)
    make.people({ANN: "Ann Miller", content_world.BOB: "Bob Stone"})
    things, labels = content_world.fill(make)
    make.save()
    world = content_world.ContentWorld(None, make, things, labels)
    token = app.state.tokens.issue("collab", ANN, SCOPES)
    prepared = {"ids": {name: world.id(name) for name in things}, "token": token}
    (folder / "told.json").write_text(json.dumps(prepared))
    run_app(app, listener)


def serve_gateway(port: str, dies: str) -> None:
    """Serve the gateway; leases last a second, and it kills itself *before* or *after* a call."""
    from gateway.cli.main import run
    from gateway.rule_intents import log, recovery
    from providers.content.merged_content import MergedContent

    log.LEASE_MS, log.RENEWAL_SECONDS = 1000, 0.2
    recovery.CHECK_SECONDS = 0.1
    recovery.LOOK_PAUSES_MS = (500, *recovery.LOOK_PAUSES_MS[1:])

    async def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        await asyncio.Event().wait()

    if dies == "before":
        for name in ("upload", "create_folder", "create_list_item"):
            setattr(MergedContent, name, die)
    if dies == "after":
        log.RuleIntentLog.allow = die  # type: ignore[method-assign] # that is the fault
    sys.argv = ["gateway", "serve", "--port", port]
    run()


if __name__ == "__main__":
    if sys.argv[1] == "sandbox":
        serve_sandbox(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        serve_gateway(sys.argv[2], (sys.argv[3:] or [""])[0])
