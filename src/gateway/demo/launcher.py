"""
The gateway's side of the demo: operators, resources, connections and one token per profile.

Everything is created once and stored in the data folder. Its `demo.json` holds the secrets and the
token texts, readable by the owner alone, so that a second start prints the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.connections.oauth_servers import SANDBOX_CLIENT
from gateway.demo.manifest import RESOURCES, UPSTREAMS, State, write_state
from gateway.demo.profiles import PARTNER, TEAM, profiles, selected_rules
from gateway.demo.world import APP_ONLY, PLANTING, READ, SCOPES, WRITE
from gateway.errors import CommandError
from gateway.operations import operators, resources, tokens
from gateway.operations.connections import ConnectionService, NewConnection
from gateway.operations.connections.sharing import SharedConnection
from gateway.operations.rules import new_row
from gateway.operations.validation import validated
from gateway.secrets.keyring import Keyring, new_secret
from gateway.settings import Settings
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.tables import Operator
from sandbox.app import Sandbox
from sandbox.world.collab import sites
from sandbox.world.people import (
    OFFICE_ACCOUNT,
    PARTNER_ACCOUNT,
    PEOPLE,
    STUDIO_ACCOUNT,
    YARD_ACCOUNT,
)

FIRST_LIFETIME = 60  # seconds of a connection's first token, so that a refresh happens soon


def settings(data: Path, state_secrets: tuple[str, str], base_url: str) -> Settings:
    """Return the demo's settings: embedded database, sandbox upstreams, everything on."""
    admin_token, secret_key = state_secrets
    return Settings.model_validate(
        {
            **Settings().model_dump(exclude_unset=True),
            "data_dir": data,
            "database_url": None,
            "admin_token": admin_token,
            "secret_keys": secret_key,
            "public_url": base_url,
            "sandbox": True,
            "internal_enabled": True,
        }
    )


async def prepare(
    data: Path, database: Database, *, secrets: tuple[str, str], sandbox: Sandbox
) -> State:
    """
    Make operators, resources, connections and tokens in an empty database; keep the secrets.

    *secrets* are the admin token and the secret key.
    """
    await database.migrate()
    filled = await fill(database, Keyring([secrets[1]]), sandbox)
    state = State(
        admin_token=secrets[0],
        secret_key=secrets[1],
        operator_id=filled.operator_id,
        tokens=filled.tokens,
        upstreams=filled.upstreams,
    )
    write_state(data, state)
    return state


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededAccounts:
    """
    The created accounts.

    Attributes:
        operator_id: The first operator, who owns all accounts but those of `PARTNER_ACCOUNT`.
        resources: Name -> id.
        tokens: Profile -> text.
        upstreams: Upstream name -> an access token that the sandbox issued.
    """

    operator_id: str
    resources: Mapping[str, int]
    tokens: Mapping[str, str]
    upstreams: Mapping[str, str]


async def fill(database: Database, keyring: Keyring, sandbox: Sandbox) -> SeededAccounts:
    """
    Make operators, resources, connections and tokens in a migrated database.

    Raises:
        CommandError: There are operators.
    """
    issued = _issue(sandbox)
    content = sites.seed(sandbox.state.database, sandbox.state.content)
    async with database.writing() as session:
        if database.path is None:
            connection = await session.connection()
            await connection.execute(text("LOCK TABLE operators IN EXCLUSIVE MODE"))
        await require_empty(session)
        operator_ids = {}
        for key, address in _OPERATORS.items():
            person = {"email": address, "displayName": PEOPLE[key].name}
            operator = await operators.create(session, validated(operators.NewOperator, person))
            operator_ids[address] = operator.id
        await session.flush()
        ids = {}
        for name in RESOURCES:
            owners = {account.owner for account in _ACCOUNTS if account.resource == name}
            linked = [operator_ids[owner] for owner in sorted({YARD_ACCOUNT, *owners})]
            new = {"name": name, "operatorIds": linked}
            resource = await resources.create(session, validated(resources.NewResource, new))
            ids[name] = resource.id
        service = ConnectionService(keyring=keyring, allowed_origins=frozenset())
        bases = []  # Nora's connections on which the office's mailbox and calendar are shared
        for account in _ACCOUNTS:
            new_connection = {
                **_connection(account, sandbox, content.selected_site_ids),
                "resourceId": ids[account.resource],
                "operatorId": operator_ids[account.owner],
            }
            made = await service.create(session, validated(NewConnection, new_connection))
            if account.upstream == "providerB":
                bases.append(made.id)
        office = {"accountEmail": OFFICE_ACCOUNT, "resourceId": ids["sharedMailbox"]}
        for base in bases:
            await service.share(session, base, validated(SharedConnection, office))
        texts = {}
        for name, chosen_settings in profiles().items():
            new_token = {
                "name": name,
                "operatorId": operator_ids[PARTNER_ACCOUNT if name == PARTNER else YARD_ACCOUNT],
                "resourceIds": [ids["sharedMailbox" if name == TEAM else "main"]],
                "settings": dict(chosen_settings),
            }
            token = await tokens.create(session, validated(tokens.NewToken, new_token))
            texts[name] = token.token
            if name == "selected":
                selected = selected_rules(content.subjects)
                session.add_all(new_row(token.id, rule) for rule in selected)
    return SeededAccounts(
        operator_id=operator_ids[YARD_ACCOUNT],
        resources=ids,
        tokens=texts,
        upstreams={name: issued[name, WRITE] for name in UPSTREAMS},
    )


async def require_empty(session: AsyncSession) -> None:
    """
    Check that the store has no accounts.

    Raises:
        CommandError: There are operators.
    """
    if (await session.exec(select(Operator.id).limit(1))).first() is not None:
        raise CommandError("The store is not empty: there are operators.")


def new_secrets() -> tuple[str, str]:
    """Make an admin token and a secret key."""
    return f"demo-admin-{new_secret()}", new_secret()


def _issue(sandbox: Sandbox) -> dict[tuple[str, str], str]:
    accounts = {
        "providerA": YARD_ACCOUNT,
        "providerB": STUDIO_ACCOUNT,
        "collab": STUDIO_ACCOUNT,
        "tasks": YARD_ACCOUNT,
        "projects": STUDIO_ACCOUNT,
    }
    issue = sandbox.state.tokens.issue
    issued = {
        (upstream, use): issue(
            upstream, accounts[upstream], (*scopes, *PLANTING.get((upstream, use), ()))
        )
        for (upstream, use), scopes in SCOPES.items()
    }
    issued["collab", "app"] = issue("collab", "access-gateway", APP_ONLY, app_only=True)
    return issued


@dataclass(frozen=True, slots=True)
class _Account:
    resource: str
    kind: str
    provider: str
    upstream: str
    use: str
    address: str
    owner: str = YARD_ACCOUNT  # the operator's address


_OPERATORS = {"nora": YARD_ACCOUNT, "henrik": PARTNER_ACCOUNT}  # by their keys in `PEOPLE`
_ACCOUNTS = (
    _Account("main", "email", "PROVIDER_A", "providerA", WRITE, YARD_ACCOUNT),
    _Account("main", "email", "PROVIDER_B", "providerB", WRITE, STUDIO_ACCOUNT),
    _Account("main", "calendar", "PROVIDER_A", "providerA", WRITE, YARD_ACCOUNT),
    _Account("main", "calendar", "PROVIDER_B", "providerB", WRITE, STUDIO_ACCOUNT),
    _Account("main", "tasks", "BOARDS", "tasks", WRITE, YARD_ACCOUNT),
    _Account("main", "collab", "COLLAB", "collab", WRITE, STUDIO_ACCOUNT),
    _Account("readOnly", "email", "PROVIDER_A", "providerA", READ, YARD_ACCOUNT),
    _Account("readOnly", "collab", "COLLAB", "collab", READ, STUDIO_ACCOUNT),
    _Account("selectedSites", "collab", "COLLAB", "collab", "app", STUDIO_ACCOUNT),
    _Account("secondTasks", "tasks", "PROJECTS", "projects", WRITE, STUDIO_ACCOUNT),
    _Account("main", "tasks", "BOARDS", "tasks", WRITE, PARTNER_ACCOUNT, owner=PARTNER_ACCOUNT),
    _Account("main", "collab", "COLLAB", "collab", WRITE, PARTNER_ACCOUNT, owner=PARTNER_ACCOUNT),
)


def _connection(
    account: _Account, sandbox: Sandbox, selected_site_ids: Sequence[str]
) -> dict[str, Any]:
    """Return the connection of *account* as the management API takes it."""
    scopes = list(SCOPES.get((account.upstream, account.use), APP_ONLY))
    is_app_only = account.use == "app"
    return {
        "kind": account.kind,
        "provider": account.provider,
        "mode": "selected_sites" if is_app_only else None,
        "accountEmail": account.address,
        "grantedScopes": scopes,
        "selectedSiteIds": list(selected_site_ids) if is_app_only else [],
        "credentials": _credentials(account, scopes, sandbox),
    }


def _credentials(account: _Account, scopes: list[str], sandbox: Sandbox) -> dict[str, Any]:
    """
    Return the connection's credentials.

    An API token for tasks; a client for app-only content; for the rest an access token that
    expires soon, with a refresh token.
    """
    tokens_of = sandbox.state.tokens
    if account.kind == "tasks":
        return {"apiToken": tokens_of.issue(account.upstream, account.address, scopes)}
    if account.use == "app":
        client = {"clientId": SANDBOX_CLIENT, "clientSecret": SANDBOX_CLIENT}
        return {**client, "tenant": "harbourlight.example"}
    access = tokens_of.issue(
        account.upstream, account.address, scopes, lifetime_seconds=FIRST_LIFETIME
    )
    return {
        "accessToken": access,
        "refreshToken": tokens_of.issue_refresh(account.upstream, account.address, scopes),
        "expiresAt": timestamps.to_text(timestamps.now_ms() + FIRST_LIFETIME * 1000),
    }
