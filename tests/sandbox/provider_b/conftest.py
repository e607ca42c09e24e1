"""
A small mailbox of provider B behind its wire, and a client for it.

Every JSON answer that the client gets is checked against the wire's published types.
"""

import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.state import open_state

TYPES = json.loads((Path(__file__).parent / "data" / "graph_types_min.json").read_text())
NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
START = 1_767_600_000_000  # 2026-01-05T08:00:00Z
SCOPES = ("Mail.ReadWrite", "Mail.Send", "User.Read", "MailboxSettings.ReadWrite")
# Open types whose every member is listed all the same.
STRICT = ("microsoft.graph.message", "microsoft.graph.event")
PRIMITIVES = {"Edm.String": str, "Edm.Boolean": bool, "Edm.Int32": int, "Edm.Binary": str}


class World:
    """The mailbox: what arrives in it, and tokens for it."""

    def __init__(self) -> None:
        self.now = NOW
        self.state = open_state(None, clock=lambda: self.now)
        self.app = Sandbox(self.state, public_base="http://sandbox.test")
        self.mails = self.state.mails

    def token(self, *scopes: str, app_only: bool = False) -> str:
        return self.state.tokens.issue(
            "providerB", "me@provider-b.example", scopes, app_only=app_only
        )

    def arrive(
        self,
        subject: str,
        *,
        minute: int = 0,
        sender: str = "Ann Miller <ann@x.test>",
        to: str = "me@provider-b.example",
        body: str = "hello",
        html: str | None = None,
        files: dict[str, bytes] | None = None,
        image: bytes | None = None,
        headers: dict[str, str] | None = None,
        folder: str = "inbox",
        labels: tuple[str, ...] = (),
        is_read: bool = False,
    ):
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = sender, to, subject
        mail["Message-ID"] = f"<{subject.replace(' ', '-')}@x.test>"
        for name, value in (headers or {}).items():
            mail[name] = value
        mail.set_content(body)
        if html is not None:
            mail.add_alternative(html, subtype="html")
        if image is not None:
            mail.add_attachment(
                image,
                maintype="image",
                subtype="png",
                filename="logo.png",
                disposition="inline",
                cid="<logo@x>",
            )
        for name, content in (files or {}).items():
            mail.add_attachment(content, maintype="application", subtype="pdf", filename=name)
        return self.mails.add(
            "provider-b",
            mail.as_bytes(),
            folder=folder,
            labels=labels,
            is_read=is_read,
            received_ms=START + minute * 60_000,
        )

    def all(self, mailbox: str = "provider-b", folder: str | None = None):
        return [message for message in self.mails.all(mailbox) if folder in (None, message.folder)]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def client(world: World) -> httpx.AsyncClient:
    return connect(world, *SCOPES)


@pytest.fixture
def client_with(world: World):
    """Make a client whose token has other scopes."""

    def make(*scopes: str, app_only: bool = False) -> httpx.AsyncClient:
        return connect(world, *scopes, app_only=app_only)

    return make


def connect(world: World, *scopes: str, app_only: bool = False) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(world.app),
        base_url="http://sandbox.test/provider-b/v1.0",
        headers={"Authorization": f"Bearer {world.token(*scopes, app_only=app_only)}"},
        event_hooks={"response": [check_answer]},
    )


async def check_answer(response: httpx.Response) -> None:
    await response.aread()
    if not response.content or "json" not in response.headers["content-type"]:
        return
    body = response.json()
    if response.status_code >= 400:
        assert set(body) == {"error"}
        assert set(body["error"]) == {"code", "message", "innerError"}
        assert {"date", "request-id", "client-request-id"} == set(body["error"]["innerError"])
        return
    context = body.get("@odata.context", "")
    name, is_one = context.removesuffix("/$entity").rpartition("/")[2], context.endswith("$entity")
    kind = {
        "messages": "message",
        "mailFolders": "mailFolder",
        "attachments": "fileAttachment",
        "masterCategories": "outlookCategory",
        "$metadata#users": "user",
        "calendars": "calendar",
        "events": "event",
        "calendarView": "event",
        "instances": "event",
        "$metadata#Collection(microsoft.graph.scheduleInformation)": "scheduleInformation",
    }.get(name)
    if kind is not None:
        for record in [body] if is_one else body["value"]:
            assert list(problems(record, f"microsoft.graph.{kind}", kind)) == []


def problems(value: Any, kind: str, path: str):
    """Yield what in a JSON value its published type does not allow."""
    if value is None:
        return
    if kind.startswith("Collection("):
        if not isinstance(value, list):
            yield f"{path} is no list"
            return
        for place, one in enumerate(value):
            yield from problems(one, kind[11:-1], f"{path}[{place}]")
    elif kind in TYPES["enums"]:
        if value not in TYPES["enums"][kind]:
            yield f"{path}: {value!r} is not in {kind}"
    elif kind in TYPES["types"]:
        named = value.get("@odata.type", "").removeprefix("#") or kind
        known = TYPES["types"][named]
        for name, one in value.items():
            if "@" in name:
                continue
            if name in known["props"]:
                yield from problems(one, known["props"][name], f"{path}.{name}")
            elif not known["open"] or named in STRICT:
                yield f"{path}.{name} is not a property of {named}"
    elif not isinstance(value, PRIMITIVES.get(kind, str)):
        yield f"{path}: {value!r} is not {kind}"
