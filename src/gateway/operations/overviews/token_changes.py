"""The difference that a change of a token makes, in sentences and in one word."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth.token_views import effective_settings
from gateway.operations import tokens
from gateway.operations.tokens import TokenChange
from gateway.store import timestamps
from gateway.store.tables import AccessToken
from policy import grants, presets
from policy.containment import (
    Direction,
    direction,
    direction_of_end,
    directions_of_settings,
    widened_settings,
)
from policy.grants import Grant
from policy.settings import DEFAULTS


class Member(msgspec.Struct, frozen=True):
    """A member that changes: its values as JSON or texts, and its direction."""

    name: str
    before: Any
    after: Any
    direction: Direction


class Difference(msgspec.Struct, frozen=True):
    """
    The difference between a token and the token after a change.

    Attributes:
        revision: Of the token that was read.
        direction: Of the change as a whole; `neither` also where it is wider and narrower.
        sentences: (before, after) of each surface on which something else is allowed.
        members: The members that change.
    """

    revision: int
    direction: Direction
    sentences: Sequence[tuple[str, str]]
    members: Sequence[Member]


async def compare(session: AsyncSession, token_id: int, change: TokenChange) -> Difference:
    """
    Return the difference that *change* would make.

    Raises:
        InvalidInput: A setting cannot be read.
    """
    token, *ancestors = await tokens.with_ancestors(session, token_id)
    # Off the event loop: a thousand international domains take a fifth of a second.
    return await asyncio.to_thread(_compare, token, ancestors, change)


def _compare(
    token: AccessToken, ancestors: Sequence[AccessToken], change: TokenChange
) -> Difference:
    settings = grants.merge(token.settings, change.settings)
    changed = AccessToken(**{**token.model_dump(), "settings": settings})
    before, after = (effective_settings(row, ancestors) for row in (token, changed))
    old, new = Grant.read(before), Grant.read(after)
    members = [*_settings(token.settings, settings), *_others(token, change)]
    further = [member.direction for member in members if not member.name.startswith("settings.")]
    return Difference(
        revision=token.policy_rev,
        direction=direction(
            widens=bool(widened_settings(old, new)) or Direction.WIDER in further,
            narrows=bool(widened_settings(new, old)) or Direction.NARROWER in further,
        ),
        sentences=[
            pair
            for pair in zip(presets.sentences(before), presets.sentences(after), strict=True)
            if pair[0] != pair[1]
        ],
        members=members,
    )


def _settings(stored: Mapping[str, Any], changed: Mapping[str, Any]) -> list[Member]:
    before, after = {**DEFAULTS, **stored}, {**DEFAULTS, **changed}
    directions = directions_of_settings(Grant.read(before), Grant.read(after))
    return [
        Member(f"settings.{name}", before[name], after[name], directions[name])
        for name in DEFAULTS
        if before[name] != after[name]
    ]


def _others(token: AccessToken, change: TokenChange) -> list[Member]:
    members, named = [], change.model_fields_set
    if "name" in named and change.name != token.name:
        members.append(Member("name", token.name, change.name, Direction.NEITHER))
    if "expires_at" in named and change.expires_at != token.expires_at:
        ends = token.expires_at, change.expires_at
        before, after = (timestamps.optional_text(end) or "never" for end in ends)
        members.append(Member("expiresAt", before, after, direction_of_end(*ends)))
    return members
