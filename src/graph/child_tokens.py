"""Root fields of child tokens: created, listed and revoked by the holder of their parent."""

from datetime import datetime
from typing import Annotated

import strawberry

from graph.child_token_port import ChildToken, ChildTokens, CreatedChildToken
from graph.context import Context, Info
from graph.masking.guards import for_parents, unguarded
from graph.output_types import output, visible
from graph.scalars import JSON, Long, format_datetime
from policy.refusals import InvalidInput, NoDryRun
from policy.vocabulary import Code
from providers.records.base import Record


@strawberry.input(description="Requests that a token may make in any window; absent: no limit.")
class TokenQuotaInput:
    per_minute: Long | None = strawberry.field(default=None, description="In 60 seconds.")
    per_hour: Long | None = strawberry.field(default=None, description="In 3,600 seconds.")
    per_day: Long | None = strawberry.field(default=None, description="In 86,400 seconds.")


@strawberry.input(description="A collab rule; block wins.")
class ChildTokenRuleInput:
    rule_type: str = strawberry.field(description="The property that the pattern is compared with.")
    pattern: str = strawberry.field(description="As in collab rules.")
    action: str = strawberry.field(description="`allow` or `block`.")


@strawberry.input(description="A child token, which allows no more than the token in use.")
class CreateChildTokenInput:
    name: str = strawberry.field(description="For display; 1 to 100 characters.")
    settings: JSON | None = strawberry.field(
        default=None, description="Settings to narrow; those that are absent are the token's own."
    )
    expires_at: datetime | None = strawberry.field(
        default=None, description="No later than the token's own end, which it is if absent."
    )
    quota: TokenQuotaInput | None = strawberry.field(
        default=None, description="Its own limits; it counts against the token's as well."
    )
    rules: list[ChildTokenRuleInput] | None = strawberry.field(
        default=None, description="Collab rules that hold beside the token's own; at most 1,000."
    )


@output
class ChildTokenList(Record, frozen=True, kw_only=True):
    """The child tokens of a token."""

    children: Annotated[tuple[ChildToken, ...], visible("At most 100, oldest first.")]


@output
class RevokedChildToken(Record, frozen=True, kw_only=True):
    """The child token that was revoked."""

    id: Annotated[int, visible("The child's id.", graphql_type=Long)]


@for_parents()
async def create_child_token(
    info: Info,
    written: Annotated[
        CreateChildTokenInput, strawberry.argument(name="input", description="The child.")
    ],
) -> CreatedChildToken:
    """Create a child token, which never allows more than the token in use."""
    context = info.context
    _refuse_preview(context)
    return await _child_tokens(context).create(
        _members(written), request_id=context.request_id, request_log=context.request_log
    )


@unguarded()
async def child_tokens(info: Info) -> ChildTokenList:
    """List the child tokens of the token in use that are neither revoked nor expired."""
    return ChildTokenList(children=tuple(await _child_tokens(info.context).all()))


@unguarded()
async def revoke_child_token(
    info: Info, child_id: Annotated[Long, strawberry.argument(description="The child's id.")]
) -> RevokedChildToken:
    """Revoke a child token of the token in use, and all that were made from it."""
    context = info.context
    _refuse_preview(context)
    await _child_tokens(context).revoke(
        child_id, request_id=context.request_id, request_log=context.request_log
    )
    return RevokedChildToken(id=child_id)


def _refuse_preview(context: Context) -> None:
    """Refuse `Prefer: dry-run` and `If-Effect`: nothing outside the gateway is written."""
    if context.is_dry_run or context.expected_effect is not None:
        raise NoDryRun("Calls about child tokens have no dry run and no effect.")


def _child_tokens(context: Context) -> ChildTokens:
    if context.child_tokens is None:
        raise InvalidInput("There are no child tokens here.", code=Code.VALIDATION_ERROR)
    return context.child_tokens


def _members(written: CreateChildTokenInput) -> dict[str, object]:
    """Return the members of the input that are present, by API name."""
    quota = written.quota or TokenQuotaInput()
    return _without_none(
        name=written.name,
        settings=written.settings,
        expiresAt=written.expires_at and format_datetime(written.expires_at),
        quota=_without_none(
            perMinute=quota.per_minute, perHour=quota.per_hour, perDay=quota.per_day
        ),
        rules=[
            {"ruleType": rule.rule_type, "pattern": rule.pattern, "action": rule.action}
            for rule in written.rules or ()
        ],
    )


def _without_none(**members: object) -> dict[str, object]:
    return {name: value for name, value in members.items() if value is not None}
