"""The shape of a token for an administrator, and a short-lived child of it to look with."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gateway.auth.token_views import effective_settings
from gateway.child_tokens import store
from gateway.documents import prepared
from gateway.explain.subject import Subject
from gateway.operations import tokens, views
from gateway.store import timestamps
from gateway.store.conflicts import retried
from graph.shape import capabilities_of
from policy.refusals import Conflict
from policy.vocabulary import Code

if TYPE_CHECKING:
    from gateway.services import Services

LIFETIME_MS = 15 * 60 * 1000
NOT_ACTIVE = "The token is not active, so nothing can be seen with it."


class Sight(msgspec.Struct, frozen=True):
    """
    The shape of a token, in the order of names.

    Attributes:
        reads, writes: Root fields that it can use.
        masked: (fields, words) of what is null for it, by the mask words that hide it.
        unusable: (argument, words): arguments that are refused, and the words that they need.
    """

    reads: Sequence[str]
    writes: Sequence[str]
    masked: Sequence[tuple[str, Sequence[str]]]
    unusable: Sequence[tuple[str, str]]


async def sight(services: "Services", token_id: int) -> Sight:
    """Return what a token sees, below its ancestors."""
    async with services.database.reading() as session:
        chain = await tokens.with_ancestors(session, token_id)
    subject = await Subject.read(chain, services.authenticator, timestamps.now_ms())
    return await asyncio.to_thread(_sight, subject)  # rules are compiled, guards are asked


@retried
async def open_eyes(services: "Services", token_id: int) -> tuple[views.ManagedAccessToken, str]:
    """
    Make a child of a token that may do what the token may, but make children; return its text too.

    It ends after `LIFETIME_MS`, or with the token. The administrator is its actor, so the token
    need not be allowed to make children.

    Raises:
        Conflict: The token is not active, or has as many children as a token can have.
        ChildrenNotAllowed: It has as many ancestors as a token can have.
    """
    now = timestamps.now_ms()
    async with services.database.writing() as session:
        parent, *ancestors = chain = await store.lock(session, token_id)
        ends = [row.expires_at for row in chain if row.expires_at is not None]
        if any(row.revoked_at is not None for row in chain) or min(ends, default=now + 1) <= now:
            raise Conflict(NOT_ACTIVE, code=Code.PRECONDITION_FAILED)
        settings = await asyncio.to_thread(effective_settings, parent, ancestors)
        store.require_children_allowed(settings, chain, allowed=True)
        child, text = await store.add(
            session,
            parent,
            name=f"Eyes of {parent.name}"[:100],
            settings=store.inherited(settings),
            expires_at=min([now + LIFETIME_MS, *ends]),
        )
        return await tokens.read(session, child.id or 0), text


def _sight(subject: Subject) -> Sight:
    schema = prepared.graph().schema
    seen = capabilities_of(schema, subject.caller)
    writes = frozenset(schema.mutation_type.fields if schema.mutation_type else ())
    by_words: dict[str, list[str]] = {}
    for coordinate, words in sorted(seen.masked):
        by_words.setdefault(words, []).append(coordinate)
    return Sight(
        reads=sorted(seen.root_fields - writes),
        writes=sorted(seen.root_fields & writes),
        masked=sorted(by_words.items()),
        unusable=sorted(seen.unusable),
    )
