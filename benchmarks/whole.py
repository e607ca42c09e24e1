"""Both sides as complete applications: the assembled gateway, and the plain application."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks import asgi
from benchmarks.baselines import fastapi_app
from benchmarks.baselines.sqlmodel_store import Models
from benchmarks.baselines.stores import File, Known, Store, Token
from benchmarks.inside import EMAIL, MAIL_MASK, settings
from gateway.app import Gateway, assemble
from gateway.auth.token_lookup import RowReader
from gateway.secrets.keyring import column_context
from gateway.settings import Settings
from providers.http.origins import Origins
from providers.records.mail import Email

Create = Callable[[str, dict[str, Any]], Awaitable[Any]]

ADMIN = "the-admin-token-of-the-benchmark"
PLENTY = [[10**9, 60], [10**9, 3600]]  # limits are counted, and never reached
TOKENS = {
    "plain": Token(1),
    "masked": Token(
        2,
        frozenset({"bcc", "attachments", "bodyPreview"}),
        "Hidden email fields: bcc, body_preview, attachments. Visible email fields may still show "
        "hidden ones: body_preview (in body), attachments (in body).",
    ),
}


@dataclass(frozen=True)
class Ours:
    """
    A running gateway.

    Attributes:
        tokens: Token texts by name, as in `TOKENS`.
    """

    gateway: Gateway
    tokens: dict[str, str]

    @property
    def file(self) -> Path:
        """The file of its database."""
        path = self.gateway.services.database.path
        assert path is not None
        return path

    def decrypt(self, connection: int, ciphertext: bytes) -> bytes:
        """Decrypt a connection's credentials: one AES-GCM operation."""
        context = column_context("connections", connection, "credentials")
        return self.gateway.services.keyring.decrypt(ciphertext, context=context)


@asynccontextmanager
async def ours(
    base: str,
    *,
    providers: Sequence[str],
    transport: httpx.AsyncBaseTransport | None = None,
    **more: Any,
) -> AsyncIterator[Ours]:
    """
    Run a gateway with one mailbox per member of *providers*, all at *base*.

    The decision log is off, because no baseline has one; *more* are further settings.
    """
    with TemporaryDirectory() as folder:
        configuration = Settings(
            _env_file=None,
            data_dir=Path(folder),
            admin_token=ADMIN,
            secret_keys="a key of the benchmark alone",  # noqa: S106 - a throwaway key
            public_url="http://127.0.0.1:8000",
            provider_a_url=base,
            provider_b_url=base,
            max_active=4096,  # room for a thousand waiting requests
            **{
                "rate_limit_windows": dict.fromkeys(("email", "graphql", "management"), PLENTY),
                "decision_days": 0,
                **more,
            },
        )
        gateway = assemble(configuration, origins=Origins(transport=transport))
        async with gateway.running():
            yield Ours(gateway, await _create_accounts_and_tokens(gateway, providers))


async def _create_accounts_and_tokens(gateway: Gateway, providers: Iterable[str]) -> dict[str, str]:
    async with _admin(gateway) as create:
        operator = await _create_operator(create, EMAIL)
        resource = await _create_mailboxes(create, operator, providers, EMAIL)
        return {
            name: await _create_token(
                create, operator, resource, name, MAIL_MASK if name == "masked" else ()
            )
            for name in TOKENS
        }


async def create_mailboxes(us: Ours, count: int) -> list[str]:
    """Create *count* mailboxes of provider B; return a token for each of them alone."""
    async with _admin(us.gateway) as create:
        operator = await _create_operator(create, "many@home.example")
        tokens = []
        for number in range(count):
            address = f"mailbox{number}@home.example"
            resource = await _create_mailboxes(create, operator, ["PROVIDER_B"], address)
            tokens.append(await _create_token(create, operator, resource, address, ()))
        return tokens


async def save_document(us: Ours, name: str, text: str, *, path: str) -> str:
    """Save a query at *path*; return its `documentId`."""
    async with _admin_client(us.gateway) as admin:
        body = {"document": text, "method": "GET", "path": path}
        answer = await admin.put(f"/api/documents/{name}", json=body)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["documentId"])


@asynccontextmanager
async def _admin(gateway: Gateway) -> AsyncIterator[Create]:
    """Yield a function that creates something by the management API and returns the answer."""
    admin = _admin_client(gateway)

    async def create(kind: str, body: dict[str, Any]) -> Any:
        answer = await admin.post(f"/api/{kind}", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async with admin:
        yield create


def _admin_client(gateway: Gateway) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(gateway, client=("127.0.0.1", 50000)),
        base_url="http://127.0.0.1:8000",
        headers={"authorization": f"Bearer {ADMIN}"},
    )


async def _create_operator(create: Create, email: str) -> Any:
    return (await create("operators", {"email": email, "displayName": "Operator"}))["id"]


async def _create_mailboxes(
    create: Create, operator: Any, providers: Iterable[str], address: str
) -> Any:
    """Create a resource with a mailbox of each of *providers*; return the resource's id."""
    body = {"name": address, "operatorIds": [operator]}
    resource = (await create("resources", body))["id"]
    for at, provider in enumerate(providers):
        connection = {
            "resourceId": resource,
            "operatorId": operator,
            "kind": "email",
            "provider": provider,
            "accountEmail": address if at == 0 else f"me{at}@home.example",
            "grantedScopes": ["Mail.ReadWrite"],
            "credentials": {"accessToken": "an-upstream-token"},
        }
        await create("connections", connection)
    return resource


async def _create_token(
    create: Create, operator: Any, resource: Any, name: str, hidden: Iterable[str]
) -> str:
    body = {
        "name": name,
        "operatorId": operator,
        "resourceIds": [resource],
        "settings": {**settings(hidden), "quota": {"perMinute": 10**9, "perHour": 10**9}},
    }
    return str((await create("access-tokens", body))["token"])


def theirs(base: str, client: httpx.AsyncClient, *, provider: str) -> asgi.App:
    """Return the plain application with its tokens in memory, under names such as "token-plain"."""
    known = {f"token-{name}": token for name, token in TOKENS.items()}
    return fastapi_app.build(client, Known(known), base=base, provider=provider)


def theirs_with_database(
    us: Ours,
    base: str,
    client: httpx.AsyncClient,
    *,
    provider: str,
    kind: type[File] | type[Models] = File,
) -> asgi.App:
    """Return the plain application on the database of *us*: the same tokens and accounts."""
    store: Store = kind(us.file, us.decrypt)
    return fastapi_app.build(client, store, base=base, provider=provider)


def remove_reads(us: Ours, email: Email) -> None:
    """Remove all reads of the gateway: every mailbox returns *email*, and rows are cached."""
    services = us.gateway.services
    services.accounts.mailbox_for = lambda *_: _FixedMailbox(email)
    services.authenticator._reader = _CachingReader(services.authenticator._reader)  # noqa: SLF001


@dataclass(frozen=True)
class _FixedMailbox:
    email: Email

    async def get(self, *_: Any, **__: Any) -> Email:
        return self.email


@dataclass(frozen=True)
class _CachingReader:
    """Row reader that reads every row once."""

    lookup: RowReader
    known: dict[Any, Any] = field(default_factory=dict)

    async def rows(self, query: str, values: Mapping[str, object]) -> Any:
        key = (query, *values.values())
        if key not in self.known:
            self.known[key] = await self.lookup.rows(query, values)
        return self.known[key]

    def close(self) -> None:
        self.lookup.close()


def same(body: bytes, other: bytes) -> bool:
    """Tell whether two response bodies are equal; null members may be absent."""
    return _without_nulls(body) == _without_nulls(other)


def _without_nulls(body: bytes) -> Any:
    return {name: value for name, value in json.loads(body).items() if value is not None}
