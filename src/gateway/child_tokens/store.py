"""Stored child tokens, made and revoked by the holders of their parents."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import Actor, actor, note
from gateway.audit.decision import EntryPoint
from gateway.auth import tokens
from gateway.auth.token_status import Status
from gateway.auth.token_views import effective_settings
from gateway.errors import Overloaded
from gateway.store import timestamps
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken
from graph.child_token_port import ChildToken, CreatedChildToken
from graph.request_log import RequestLog
from policy import grants
from policy.caller import MAX_ANCESTORS, Caller
from policy.containment import widened_settings
from policy.refusals import ChildrenNotAllowed, Conflict, NotFound, WiderThanParent
from policy.settings import DEFAULTS
from policy.vocabulary import Code, RuleAction
from providers.dry_run import before_call, in_dry_run

if TYPE_CHECKING:  # imported when the first child token is made
    from types import ModuleType

    from gateway.child_tokens.inputs import NewChild
    from gateway.operations.rules import RuleKey

MAX_CHILDREN = 100  # living ones of one token


class ChildTokenStore(msgspec.Struct, frozen=True):
    """The child tokens of every token. One per process."""

    database: Database

    def of(self, caller: Caller) -> "ChildTokensOfCaller":
        """Return the children of one token."""
        return ChildTokensOfCaller(self.database, caller.token_id)


class ChildTokensOfCaller(msgspec.Struct, frozen=True):
    """`graph.child_token_port.ChildTokens` over the database."""

    database: Database
    parent_id: int

    async def create(
        self, members: Mapping[str, object], *, request_id: str, request_log: RequestLog
    ) -> CreatedChildToken:
        inputs = await asyncio.to_thread(_inputs)
        new, keys = await inputs.read(members)
        with self._acting(request_id, request_log):
            return await self._create(new, keys)

    async def all(self) -> Sequence[ChildToken]:
        try:
            async with self.database.reading() as session:
                parent = await _read(session, self.parent_id)
                chain = (parent, *(await tokens.ancestors_of(session, [parent]))[self.parent_id])
                children = await _living(session, parent)
                # Off the event loop, as above: there may be a hundred thousand patterns.
                views = await asyncio.to_thread(lambda: [_view(child, chain) for child in children])
                return [ChildToken(**view) for view in views]
        except StorageUnavailable as failure:
            raise Overloaded from failure

    async def revoke(self, child_id: int, *, request_id: str, request_log: RequestLog) -> None:
        with self._acting(request_id, request_log):
            await self._revoke(child_id)

    @retried
    async def _create(
        self, new: "NewChild", keys: "Mapping[RuleKey, str | None]"
    ) -> CreatedChildToken:
        from gateway.operations.rules import new_row  # noqa: PLC0415 - imported by now

        async with self.database.writing() as session:
            parent, *ancestors = chain = await lock(session, self.parent_id)
            settings = effective_settings(parent, ancestors)
            # `explain` tries a change in a dry run: it is not stored, and the gate has checked it.
            require_children_allowed(settings, chain, allowed=in_dry_run())
            # Off the event loop: a thousand international domains take a fifth of a second.
            below = len(ancestors) + 1
            own, wider = await asyncio.to_thread(_narrow, settings, new, below=below)
            ends = [row.expires_at for row in chain if row.expires_at is not None]
            last = min(ends, default=None)
            if new.expires_at is not None and last is not None and new.expires_at > last:
                wider.append("expiresAt")
            if wider:
                raise WiderThanParent(wider)
            end = last if new.expires_at is None else new.expires_at
            child, text = await add(session, parent, name=new.name, settings=own, expires_at=end)
            session.add_all(new_row(child.id or 0, key) for key in keys)
            return CreatedChildToken(**_view(child, chain), token=text)

    @retried
    async def _revoke(self, child_id: int) -> None:
        async with self.database.writing() as session:
            child = await session.get(AccessToken, child_id, with_for_update=True)
            if child is None or child.parent_id != self.parent_id or child.revoked_at is not None:
                raise NotFound("The token has no such child token.", code=Code.TOKEN_NOT_FOUND)
            before_call("DELETE", changes=True)
            await tokens.revoke(session, col(AccessToken.id) == child_id)
            await session.refresh(child)
            note(session, "revokeToken", child_id, token=child)

    @contextmanager
    def _acting(self, request_id: str, request_log: RequestLog) -> Iterator[None]:
        """Make the token the actor of what the block changes."""
        door = getattr(request_log, "entry_point", EntryPoint.GRAPHQL)
        reset = actor.set(Actor(f"token {self.parent_id}", door, request_id))
        try:
            yield
        except StorageUnavailable as failure:
            raise Overloaded from failure
        finally:
            actor.reset(reset)


def _inputs() -> "ModuleType":
    from gateway.child_tokens import inputs  # noqa: PLC0415 - its models take long to make

    return inputs


def _narrow(
    settings: Mapping[str, object], new: "NewChild", *, below: int
) -> tuple[dict[str, object], list[str]]:
    """
    Return the settings of a child, and the members of *new* that would allow more.

    *settings* are the parent's, *below* how many ancestors the child has.
    """
    # A child that says nothing of collab content sees what the rules of its ancestors allow.
    has_allow_rules = any(rule.action == RuleAction.ALLOW for rule in new.rules)
    own = grants.merge(inherited(settings, has_allow_rules=has_allow_rules), new.settings)
    quota = own["quota"] if isinstance(own["quota"], Mapping) else {}
    if new.quota:
        own = grants.merge(own, {"quota": {**quota, **new.quota}})
    widened = widened_settings(grants.Grant.read(settings), grants.Grant.read(own))
    if "collabAllowAllDefault" not in new.settings:
        widened = [name for name in widened if name != "collabAllowAllDefault"]
    if below >= MAX_ANCESTORS and own["allowChildren"] is True:
        widened.append("allowChildren")
    wider = [f"settings.{name}" for name in widened]
    if new.quota and "settings.quota" in wider:
        wider[wider.index("settings.quota")] = "quota"
    return own, wider


def inherited(
    settings: Mapping[str, object], *, has_allow_rules: bool = False
) -> dict[str, object]:
    """Return the settings of a child that names none, below a token with *settings*."""
    return {
        **DEFAULTS,
        **settings,
        "allowChildren": False,
        "collabAllowAllDefault": not has_allow_rules,
    }


def require_children_allowed(
    settings: Mapping[str, object], chain: Sequence[AccessToken], *, allowed: bool = False
) -> None:
    """
    Check that the first token of *chain* may have children; *settings* are its effective ones.

    *allowed*: another client than its settings allow.

    Raises:
        ChildrenNotAllowed: It may not, or has as many ancestors as a token can have.
    """
    allowed = allowed or settings.get("allowChildren") is True
    if not allowed or len(chain) > MAX_ANCESTORS:
        raise ChildrenNotAllowed(allowed=allowed)


async def add(  # noqa: PLR0913 - the properties of a token
    session: AsyncSession,
    parent: AccessToken,
    *,
    name: str,
    settings: Mapping[str, object],
    expires_at: int | None,
    audience: str | None = None,
) -> tuple[AccessToken, str]:
    """
    Store a child of a locked *parent*; return it with its text.

    Raises:
        Conflict: The parent has as many children as a token can have.
    """
    if len(await _living(session, parent)) >= MAX_CHILDREN:
        raise Conflict(f"A token has at most {MAX_CHILDREN} child tokens.", code=Code.TOKEN_LIMIT)
    before_call("POST", changes=True)
    child, text = await tokens.create(
        session,
        name=name,
        operator_id=parent.operator_id,
        resource_ids=(await tokens.resources_of(session, [parent]))[parent.id or 0],
        expires_at=expires_at,
        settings=settings,
        parent_id=parent.id,
        audience=audience,
    )
    note(session, "createToken", child.id, token=child)
    return child, text


async def lock(session: AsyncSession, token_id: int) -> Sequence[AccessToken]:
    """Return a token and its ancestors, locked from the oldest on, so that none is revoked."""
    token = await _read(session, token_id)
    chain = (token, *(await tokens.ancestors_of(session, [token]))[token_id])
    for row in reversed(chain):
        await session.refresh(row, with_for_update=True)
    return chain


async def _read(session: AsyncSession, token_id: int) -> AccessToken:
    token = await session.get(AccessToken, token_id)
    if token is None:
        raise NotFound("There is no such token.", code=Code.TOKEN_NOT_FOUND)
    return token


async def _living(session: AsyncSession, parent: AccessToken) -> Sequence[AccessToken]:
    active = tokens.status_conditions(Status.ACTIVE, timestamps.now_ms())
    children = (
        select(AccessToken)
        .where(col(AccessToken.parent_id) == parent.id, *active)
        .order_by(col(AccessToken.id))
    )
    return (await session.exec(children)).all()


def _view(child: AccessToken, ancestors: Sequence[AccessToken]) -> dict[str, Any]:
    return {
        "id": child.id,
        "name": child.name,
        "key_id": child.key_id,
        "created_at": timestamps.from_ms(child.created_at),
        "expires_at": None if child.expires_at is None else timestamps.from_ms(child.expires_at),
        "last_used_at": None
        if child.last_used_at is None
        else timestamps.from_ms(child.last_used_at),
        "settings": {**DEFAULTS, **effective_settings(child, ancestors)},
    }
