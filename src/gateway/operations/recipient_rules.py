"""Recipient rules of a token: listed, added, removed and evaluated (docs/spec/recipients.md)."""

from typing import Any, TypedDict

from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.operations import rows, tokens
from gateway.operations.validation import invalid
from gateway.store.tables import AccessToken
from policy import recipients
from policy.grants import Grant
from policy.recipients import EVERYBODY, EVERYONE, RecipientRules
from policy.vocabulary import RuleAction


class RecipientRule(TypedDict):
    """One pattern of the setting `recipientRules`."""

    action: str
    pattern: str


class RecipientDecision(TypedDict):
    """Whether a token may write to an address, and the patterns that match it."""

    address: str
    allowed: bool
    matching: list[RecipientRule]


async def list_all(session: AsyncSession, token_id: int) -> list[RecipientRule]:
    """Return the rules of a token, allow before block; a token without rules allows everyone."""
    return _listed(_rules(await rows.get(session, AccessToken, token_id)))


async def add(session: AsyncSession, token_id: int, action: str, pattern: str) -> RecipientRule:
    """
    Add a rule to a token.

    The first allow rule of a token without rules ends that it may write to everyone; the first
    block rule leaves all others allowed.

    Raises:
        InvalidInput: The action or the pattern is not valid.
    """
    added = _parse(action, pattern)
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    if token.settings.get("recipientRules") is None and added["action"] == RuleAction.ALLOW:
        listed = [added]
    else:
        listed = [*_listed(_rules(token)), added]
    await _store(session, token_id, listed)
    return added


async def remove(session: AsyncSession, token_id: int, action: str, pattern: str) -> RecipientRule:
    """
    Remove a rule from a token; a token whose last rule is gone may write to nobody.

    Raises:
        InvalidInput: The token has no such rule.
    """
    removed = _parse(action, pattern)
    token = await rows.get(session, AccessToken, token_id, for_update=True)
    listed = _listed(_rules(token))
    if token.settings.get("recipientRules") is None or removed not in listed:
        raise invalid("pattern", "is in no recipient rule of this token")
    await _store(session, token_id, [rule for rule in listed if rule != removed])
    return removed


async def evaluate(session: AsyncSession, token_id: int, address: str) -> RecipientDecision:
    """Return whether a token may write to *address*, and why."""
    rules = _rules(await rows.get(session, AccessToken, token_id))
    normal = recipients.normalize(address)
    matching = {EVERYONE} if normal is None else recipients.patterns_of(normal)
    return {
        "address": normal or address,
        "allowed": rules.allows(address),
        "matching": [rule for rule in _listed(rules) if rule["pattern"] in matching],
    }


def _rules(token: AccessToken) -> RecipientRules:
    return Grant.read(token.settings).recipients or EVERYBODY


def _listed(rules: RecipientRules) -> list[RecipientRule]:
    return [
        {"action": action, "pattern": pattern}
        for action, patterns in (("allow", rules.allow), ("block", rules.block))
        for pattern in sorted(patterns)
    ]


def _parse(action: str, pattern: str) -> RecipientRule:
    if action not in list(RuleAction):
        raise invalid("action", f"must be one of: {', '.join(RuleAction)}")
    normal = recipients.normalize_pattern(pattern)
    if normal is None:
        raise invalid("pattern", "is neither an address nor @domain nor *")
    return {"action": action, "pattern": normal}


async def _store(session: AsyncSession, token_id: int, listed: list[RecipientRule]) -> None:
    rules: dict[str, Any] = {
        action.value: [rule["pattern"] for rule in listed if rule["action"] == action]
        for action in RuleAction
    }
    change = tokens.TokenChange(settings={"recipientRules": rules})
    await tokens.change(session, token_id, change)
