"""
The small world of the tests: two mailboxes with hand-written mails, and a gateway over them.

`build` creates it once per session as a folder (the gateway's database and the sandbox's store); a
test opens a copy with `opened`. Everything uses the public interfaces: the management API creates
operators, connections and tokens; connectors call the sandbox over HTTP.

Another operator shares every resource, with accounts of all kinds that would work. No token is of
that operator, so a call that reaches one of the accounts fails the test.
"""

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.app import Gateway, assemble
from gateway.settings import Settings
from sandbox.app import Sandbox, create
from sandbox.mail.store import NEW_THREAD, NewMail, StoredMail
from sandbox.oauth.tokens import TokenGrant

ORIGIN = "http://127.0.0.1:8000"
ADMIN = "an-admin-token-of-the-tests"
ME_A, ME_B = "me@provider-a.example", "me@provider-b.example"
ANA, BO, CARLA = "Ana Müller <ana@home.example>", "bo@work.example", "Carla <carla@work.example>"
WRITES = {
    "PROVIDER_A": ["https://www.googleapis.com/auth/gmail.modify"],
    "PROVIDER_B": ["Mail.ReadWrite", "Mail.Send"],
}
READS = ["https://www.googleapis.com/auth/gmail.readonly"]
STRANGER = "stranger@elsewhere.example"  # all accounts of the operator who shares the resources
STRANGE_ACCOUNTS = (  # kind, provider, upstream, scopes
    ("email", "PROVIDER_A", "providerA", WRITES["PROVIDER_A"]),
    ("email", "PROVIDER_B", "providerB", WRITES["PROVIDER_B"]),
    ("calendar", "PROVIDER_A", "providerA", ["https://www.googleapis.com/auth/calendar"]),
    ("calendar", "PROVIDER_B", "providerB", ["Calendars.ReadWrite"]),
    ("tasks", "BOARDS", "tasks", ["boards:read", "boards:write"]),
    ("tasks", "PROJECTS", "projects", ["default"]),
    ("collab", "COLLAB", "collab", ["Files.ReadWrite.All", "Sites.ReadWrite.All"]),
)
FIRST = 4 * len(STRANGE_ACCOUNTS) + 1  # the first connection of the tokens' operator
MAILBOXES = {"PROVIDER_A": "provider-a", "PROVIDER_B": "provider-b"}

# What the API shows of the provider of a mailbox; `imap_suite_plugin` changes it.
CODES = {"PROVIDER_A": "PROVIDER_A", "PROVIDER_B": "PROVIDER_B"}
PREFIXES = {"PROVIDER_A": "providerA", "PROVIDER_B": "providerB"}  # of ids
INBOX_LABELS = {"PROVIDER_A": ["INBOX"], "PROVIDER_B": []}
LINE_END = {"PROVIDER_A": "\n", "PROVIDER_B": "\n"}
LEASE_FILE = {"part": "1", "size": 14}
# Writes and commits that leave a draft: the commit that it is begun, its creation, on provider B
# its change and one call for each file, and the commit of its id.
DRAFT_WRITES = {
    "PROVIDER_A": {"send": 3, "reply": 3, "forward": 3},
    "PROVIDER_B": {"send": 5, "reply": 6, "forward": 6},
}

MAIN, READ_ONLY, EMPTY, BROKEN = 1, 2, 3, 4  # resources


def mail(
    name: str,
    sender: str,
    to: str,
    subject: str,
    text: str,
    *,
    at: str,
    cc: str = "",
    html: bool = False,
    attachment: tuple[str, str, bytes] | None = None,
    headers: Mapping[str, str] | None = None,
    folder: str = "inbox",
    labels: tuple[str, ...] = (),
    is_read: bool = True,
) -> NewMail:
    """Write a mail; *name* is in its Message-ID, *at* is when it was received (UTC)."""
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to, subject
    if cc:
        message["Cc"] = cc
    message["Date"] = format_datetime(moment)
    message["Message-ID"] = f"<{name}@world.example>"
    for header, value in (headers or {}).items():
        message[header] = value
    message.set_content(text, subtype="html" if html else "plain")
    if attachment is not None:
        file, kind, content = attachment
        message.add_attachment(content, *kind.split("/"), filename=file)
    return NewMail(
        raw=message.as_bytes(),
        folder=folder,
        labels=labels,
        is_read=is_read,
        received_ms=int(moment.timestamp() * 1000),
        thread_id=None if headers else NEW_THREAD,
    )


LEASE = ("lease.pdf", "application/pdf", b"%PDF-1.4 lease")

MAILS: Mapping[str, Mapping[str, NewMail]] = {
    "provider-a": {
        "lease": mail(
            "lease",
            ANA,
            ME_A,
            "Lease for the flat",
            "The lease is attached. Please sign it.\n",
            at="2026-11-19T09:00:00",
            cc=BO,
            attachment=LEASE,
            labels=("Home",),
            is_read=False,
        ),
        "lunch": mail(
            "lunch", BO, ME_A, "Lunch on Friday?", "At noon?\n", at="2026-11-17T12:00:00"
        ),
        "answer": mail(
            "answer",
            ME_A,
            BO,
            "Re: Lunch on Friday?",
            "Yes.\n",
            at="2026-11-17T12:30:00",
            headers={"In-Reply-To": "<lunch@world.example>", "References": "<lunch@world.example>"},
            folder="sent",
        ),
        "junk": mail(
            "junk", BO, ME_A, "You won", "A prize.\n", at="2026-11-19T10:00:00", folder="spam"
        ),
    },
    "provider-b": {
        "budget": mail(
            "budget",
            CARLA,
            ME_B,
            "Budget 2027",
            "<p>The <b>budget</b> for 2027.</p>\n",
            at="2026-11-18T08:30:00",
            html=True,
            labels=("Finance",),
            headers={"Importance": "high"},
        ),
        "minutes": mail(
            "minutes", BO, ME_B, "Minutes", "See below.\n", at="2026-11-16T07:00:00", is_read=False
        ),
    },
}

# Lenient, as tokens of versions before 0.3: many tests send a parameter to calls that have none.
EVERYTHING_ON_EMAIL = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "strictParameters": False,
}


def api_id(mailbox: str, native: str) -> str:
    """Return the API's id of a message or thread of a mailbox by its native id."""
    (provider,) = [name for name, owned in MAILBOXES.items() if owned == mailbox]
    return f"{PREFIXES[provider]}:{native}"


@dataclass(frozen=True)
class World:
    """
    A running gateway over its sandbox.

    Attributes:
        mails: What is in the mailboxes, by the names above.
        stranger_id: The operator who shares the resources.
        connections: Connection ids by provider, on the resource `MAIN`.
    """

    gateway: Gateway
    sandbox: Sandbox
    operator_id: str
    stranger_id: str
    mails: Mapping[str, StoredMail]
    connections: Mapping[str, int]
    admin: httpx.AsyncClient = field(repr=False)
    address: str = "127.0.0.1"

    async def token(
        self, settings: Mapping[str, Any], *, resources: tuple[int, ...] = (MAIN,), **more: Any
    ) -> str:
        """
        Make an access token with *settings* over those that open all of email.

        Its `expiresAt` may have passed: it is set after the token was created.
        """
        ends = {"expiresAt": more.pop("expiresAt")} if "expiresAt" in more else None
        body = {
            "name": "test",
            "operatorId": self.operator_id,
            "resourceIds": list(resources),
            "settings": {**EVERYTHING_ON_EMAIL, **settings},
            **more,
        }
        made = await self.admin.post("/api/access-tokens", json=body)
        assert made.status_code == 201, made.text
        if ends is not None:
            url = f"/api/access-tokens/{made.json()['id']}"
            assert (await self.admin.patch(url, json=ends)).status_code == 200
        return str(made.json()["token"])

    def client(self, token: str | None = None) -> httpx.AsyncClient:
        """Return a client that calls with *token*."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return _client(self.gateway, headers, self.address)

    def called_from(self, address: str) -> "World":
        """Return the world with callers at another address, which has rate limits of its own."""
        admin = _client(self.gateway, {"authorization": f"Bearer {ADMIN}"}, address)
        return replace(self, admin=admin, address=address)

    def id(self, name: str) -> str:
        """Return the API's id of a mail: "providerA:…"."""
        return api_id(self.mails[name].mailbox, self.mails[name].immutable_id)

    def thread_id(self, name: str) -> str:
        """Return the API's id of a mail's thread."""
        return api_id(self.mails[name].mailbox, self.mails[name].thread_id)

    def calls(self) -> list[dict[str, Any]]:
        """Return the calls to both mail upstreams since `forget_calls`."""
        return [call for name in ("providerA", "providerB") for call in self._upstream(name).calls]

    def forget_calls(self) -> None:
        """Empty the call logs."""
        for name in ("providerA", "providerB"):
            self._upstream(name).calls.clear()

    async def fail(self, upstream: str, **fault: Any) -> None:
        """Set a fault: ``await world.fail("provider-a", kind="503", count=1)``."""
        answer = await self.admin.put(f"/sandbox/faults/{upstream}", json=fault)
        assert answer.status_code == 200, answer.text

    def stored(self, name: str) -> StoredMail:
        """Return a mail as it is in its mailbox now."""
        mailbox = "provider-a" if name in MAILS["provider-a"] else "provider-b"
        mail = self.sandbox.state.mails.find(mailbox, self.mails[name].immutable_id)
        assert mail is not None
        return mail

    def stored_mails(self) -> list[StoredMail]:
        """Return all that is in the mailboxes now."""
        stored = self.sandbox.state.mails
        return [mail for mailbox in MAILBOXES.values() for mail in stored.all(mailbox)]

    def sent(self, mailbox: str) -> list[StoredMail]:
        """Return what is in a mailbox's sent folder and was not there at first, newest first."""
        born = {mail.immutable_id for mail in self.mails.values()}
        return [
            mail
            for mail in self.sandbox.state.mails.all(mailbox)
            if mail.folder == "sent" and mail.immutable_id not in born
        ]

    async def send_draft(self, provider: str, draft: StoredMail) -> None:
        """Send a draft by the provider's own call, as the person's client does."""
        mailbox = MAILBOXES[provider]
        account = self.sandbox.state.mails.account(mailbox).email
        if provider == "PROVIDER_A":
            upstream, scopes = "providerA", ["https://www.googleapis.com/auth/gmail.modify"]
            path, body = "gmail/v1/users/me/drafts/send", {"id": f"r{int(draft.id, 16)}"}
        else:
            upstream, scopes = "providerB", ["Mail.ReadWrite", "Mail.Send"]
            path, body = f"v1.0/me/messages/{draft.immutable_id}/send", None
        token = self.sandbox.state.tokens.issue(upstream, account, scopes)
        headers = {"authorization": f"Bearer {token}", "prefer": 'IdType="ImmutableId"'}
        if body is None:
            headers["content-length"] = "0"
        async with self.client() as client:
            url = f"/sandbox/{mailbox}/{path}"
            answer = await client.post(url, json=body, headers=headers)
        assert answer.status_code in {200, 202}, answer.text

    def _upstream(self, name: str) -> Any:
        return self.sandbox.upstreams[name]


async def build(folder: Path) -> dict[str, Any]:
    """Make the world in *folder*; return what `opened` needs to know."""
    sandbox = create(folder, public_base=f"{ORIGIN}/sandbox")
    mails = {
        name: stored.immutable_id
        for mailbox, named in MAILS.items()
        for name, stored in zip(
            named, sandbox.state.mails.add_many(mailbox, named.values()), strict=True
        )
    }
    sandbox.state.mails.add_label("provider-a", "Home")
    sandbox.state.mails.add_label("provider-b", "Finance")
    gateway = assemble(_settings(folder), sandbox=sandbox)
    async with gateway.running():
        admin = _client(gateway, {"authorization": f"Bearer {ADMIN}"})
        operator = await _made(
            admin, "operators", {"email": "op@world.example", "displayName": "Op"}
        )
        person = {"email": STRANGER, "displayName": "Stranger"}
        stranger = await _made(admin, "operators", person)
        for name in ("main", "readOnly", "empty", "broken"):
            await add_resource(admin, sandbox, name, operator, stranger)
        connections = {
            provider: await _connect(
                admin, sandbox, operator, provider, resource=MAIN, scopes=scopes
            )
            for provider, scopes in WRITES.items()
        }
        for resource, scopes in ((READ_ONLY, READS), (BROKEN, WRITES["PROVIDER_A"])):
            made = await _connect(
                admin, sandbox, operator, "PROVIDER_A", resource=resource, scopes=scopes
            )
            if resource == BROKEN:
                change = {"status": "disabled"}
                await admin.patch(f"/api/connections/{made}", json=change)
    people = {"operator_id": operator, "stranger_id": stranger}
    return {**people, "mails": mails, "connections": connections}


@asynccontextmanager
async def opened(
    template: Path, known: Mapping[str, Any], folder: Path, **settings: Any
) -> AsyncIterator[World]:
    """Open a copy of the world in *folder*; *settings* are over those of the tests."""
    shutil.copytree(template, folder, dirs_exist_ok=True)
    sandbox = create(folder, public_base=f"{ORIGIN}/sandbox")
    chosen = _settings(folder).model_copy(update=settings)
    gateway = assemble(chosen, sandbox=sandbox)
    mails = {
        name: mail
        for mailbox, named in MAILS.items()
        for name in named
        if (mail := sandbox.state.mails.find(mailbox, known["mails"][name])) is not None
    }
    with without_strange_calls(sandbox):
        async with gateway.running():
            yield World(
                gateway=gateway,
                sandbox=sandbox,
                operator_id=known["operator_id"],
                stranger_id=known["stranger_id"],
                mails=mails,
                connections=known["connections"],
                admin=_client(gateway, {"authorization": f"Bearer {ADMIN}"}),
            )


@contextmanager
def without_strange_calls(sandbox: Sandbox) -> Iterator[None]:
    """Fail if an upstream is called with an account of the other operator."""
    read, used = sandbox.state.tokens.read, set[str]()

    def recording(upstream: str, token: str) -> TokenGrant | None:
        grant = read(upstream, token)
        used.update([] if grant is None else [grant.account])
        return grant

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sandbox.state.tokens, "read", recording)
        yield
    assert STRANGER not in used


async def add_resource(
    admin: httpx.AsyncClient, sandbox: Sandbox, name: str, operator: str, stranger: str
) -> int:
    """Make a resource that both operators share, with accounts of the second; return its id."""
    new = {"name": name, "operatorIds": [operator, stranger]}
    resource = int(await _made(admin, "resources", new))
    for kind, provider, upstream, scopes in STRANGE_ACCOUNTS:
        issued = sandbox.state.tokens.issue(upstream, STRANGER, scopes)
        connection = {
            "resourceId": resource,
            "operatorId": stranger,
            "kind": kind,
            "provider": provider,
            "accountEmail": STRANGER,
            "grantedScopes": scopes,
            "credentials": {"apiToken" if kind == "tasks" else "accessToken": issued},
        }
        await _made(admin, "connections", connection)
    return resource


def _settings(folder: Path) -> Settings:
    return _settings_of_all().model_copy(update={"data_dir": folder})


@cache
def _settings_of_all() -> Settings:
    return Settings(
        _env_file=None,
        admin_token=ADMIN,
        secret_keys="a secret key of the tests, not used elsewhere",
        public_url=ORIGIN,
        sandbox=True,
        not_found_step_ms=0,  # thousands of 404s would wait
    )


def _client(
    gateway: Gateway, headers: Mapping[str, str], address: str = "127.0.0.1"
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(gateway, client=(address, 50000))
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN, headers=headers)


async def _connect(
    admin: httpx.AsyncClient,
    sandbox: Sandbox,
    operator: str,
    provider: str,
    *,
    resource: int,
    scopes: list[str],
) -> int:
    mailbox = MAILBOXES[provider]
    account = sandbox.state.mails.account(mailbox).email
    upstream = "providerA" if provider == "PROVIDER_A" else "providerB"
    token = sandbox.state.tokens.issue(upstream, account, scopes)
    body = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": provider,
        "accountEmail": account,
        "grantedScopes": scopes,
        "credentials": {"accessToken": token},
    }
    return int(await _made(admin, "connections", body))


async def _made(admin: httpx.AsyncClient, kind: str, body: Mapping[str, Any]) -> Any:
    made = await admin.post(f"/api/{kind}", json=body)
    assert made.status_code == 201, made.text
    return made.json()["id"]
