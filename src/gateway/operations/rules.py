"""What the `rule` commands do on the store."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.cli.documents import checked
from gateway.cli.stores import opened
from gateway.management import rules
from gateway.operations import rule_rows
from gateway.store.tables import AccessToken, CollabRule
from policy.refusals import InvalidInput, NotFound
from policy.rules import Facts, Reason, Rule, RuleSet
from policy.vocabulary import Code, RuleAction, RuleType
from providers.content import ids as collab_ids


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the rules say; *rule_id* is None when no rule matches and the default decides."""

    allowed: bool
    rule_id: int | None

    @property
    def text(self) -> str:
        """The verdict in words."""
        word = "allowed" if self.allowed else "blocked"
        if self.rule_id is None:
            return f"{word}, by default: no rule matches"
        return f"{word}, by rule {self.rule_id}"

    @property
    def as_json(self) -> dict[str, Any]:
        """The verdict for programs."""
        return {"allowed": self.allowed, "ruleId": self.rule_id}


async def added(
    token_id: int, action: str, rule_type: str, pattern: str, description: str | None
) -> Mapping[str, Any]:
    """Add a rule; return it."""
    new = checked(
        rule_rows.NewRule,
        {
            "ruleType": rule_type,
            "pattern": pattern,
            "action": action,
            "description": description,
        },
    )
    async with opened() as (database, _, _settings), database.writing() as session:
        return rule_rows.view(await rules.add(session, await _known(session, token_id), new))


async def listed(token_id: int) -> list[Mapping[str, Any]]:
    """Return a token's rules by id."""
    async with opened() as (database, _, _settings), database.reading() as session:
        token = await _known(session, token_id)
        return [rule_rows.view(row) for row in await _rules(session, token)]


async def removed(token_id: int, rule_id: int) -> Mapping[str, Any]:
    """Remove a rule; return what it was."""
    async with opened() as (database, _, _settings), database.writing() as session:
        token = await _known(session, token_id)
        row = await session.get(CollabRule, rule_id)
        if row is None or row.token_id != token.id:
            raise NotFound(f"The token has no rule {rule_id}.", code=Code.RULE_NOT_FOUND)
        await session.delete(row)
        token.policy_rev += 1
        session.add(token)
        return rule_rows.view(row)


async def tested(token_id: int, known: Facts) -> Verdict:
    """Decide on something of which *known* is known."""
    async with opened() as (database, _, _settings), database.reading() as session:
        token = await _known(session, token_id)
        rows = await _rules(session, token)
    compiled = RuleSet.compile(
        [
            Rule(row.id or 0, RuleType(row.rule_type), row.pattern, RuleAction(row.action))
            for row in rows
        ],
        allow_by_default=token.settings.get("collabAllowAllDefault") is True,
    )
    decision = compiled.decide(known)
    by_default = decision.reason is Reason.DEFAULT
    return Verdict(decision.allowed, None if by_default else decision.rule_id)


def facts(  # noqa: PLR0913 - each is an option of the command
    text: str | None,
    *,
    under: Iterable[str],
    site: str | None,
    mime_type: str | None,
    labels: Iterable[str],
    content_type: str | None,
) -> Facts:
    """
    Read what is said of something.

    Raises:
        InvalidInput: An id is none.
    """
    known: dict[str, Any] = {} if text is None else _of_id(text)
    above = [collab_ids.split_item(one) for one in under]
    place = collab_ids.split_site(site) if site is not None else None
    if None in above or (site is not None and place is None):
        raise InvalidInput("A folder or site is named by its collab: id.", code=Code.INVALID_ID)
    if place is not None:
        known["site_id"] = place
    return Facts(
        **known,
        ancestors=frozenset((one.drive, one.item) for one in above if one is not None),
        mime_type=mime_type and mime_type.lower(),
        label_ids=frozenset(one.lower() for one in labels),
        content_type_id=content_type,
    )


def _of_id(text: str) -> dict[str, Any]:
    if item := collab_ids.split_item(text):
        return {"item": (item.drive, item.item), "drive_id": item.drive}
    if drive := collab_ids.split_drive(text):
        return {"drive_id": drive}
    if row := collab_ids.split_row(text):
        return {"site_id": row.site, "list_id": row.list, "list_item_id": row.item}
    if of := collab_ids.split_list(text):
        return {"site_id": of.site, "list_id": of.list}
    if site := collab_ids.split_site(text):
        return {"site_id": site}
    raise InvalidInput("This is no id of the API (collab:…).", code=Code.INVALID_ID)


async def _known(session: AsyncSession, token_id: int) -> AccessToken:
    token = await session.get(AccessToken, token_id)
    if token is None:
        raise NotFound(f"There is no token {token_id}.", code=Code.TOKEN_NOT_FOUND)
    return token


async def _rules(session: AsyncSession, token: AccessToken) -> list[CollabRule]:
    found = await session.exec(
        select(CollabRule).where(col(CollabRule.token_id) == token.id).order_by(col(CollabRule.id))
    )
    return list(found)
