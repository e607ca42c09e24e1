"""`/api/access-tokens/{tokenId}/collab-rules`: the collaboration content that a token may reach."""

from typing import Annotated

from fastapi import Depends, Response
from pydantic import FailFast, Field

from gateway.http.request_services import AppServices
from gateway.management import paging
from gateway.management.bodies import body, described
from gateway.management.paging import Filters, Pager
from gateway.management.router import Router, RowId
from gateway.operations import rows, rules, views
from gateway.operations.inputs import Input, WholeNumberText
from gateway.operations.rules import NewRule, RuleChange
from gateway.store.tables import AccessToken
from policy.vocabulary import RuleAction, RuleType
from rest_compat.body import MAX_BODY

router = Router(prefix="/api/access-tokens/{token_id}/collab-rules", tags=["Collab rules"])


MAX_VALUES = 100_000  # of a whole set of rules; docs/spec/limits.md#sizes


class Rules(Input):
    rules: Annotated[list[NewRule], FailFast()]


_whole_set = body(Rules, limit=MAX_BODY, max_values=MAX_VALUES)


class RuleFilters(Filters):
    limit: Annotated[WholeNumberText, Field(ge=1)] = 100
    rule_type: RuleType | None = None
    action: RuleAction | None = None


@router.get("", openapi_extra=paging.described(RuleFilters))
async def list_collab_rules(
    services: AppServices,
    token_id: RowId,
    query: Annotated[RuleFilters, Depends(paging.query(RuleFilters))],
    response: Response,
) -> views.CollabRulePage:
    """List the collab rules of a token by id."""
    async with services.database.reading() as session:
        token = await rows.get(session, AccessToken, token_id)
        pager = Pager(services.keyring, f"rules:{token.id}", query, response, most=500)
        listed = await rules.list_all(
            session, token_id, **pager.filters, after=pager.after_id, limit=pager.fetch
        )
    return views.CollabRulePage(rules=listed[: pager.limit], **pager.page(listed))


@router.post("", status_code=201, openapi_extra=described(NewRule))
async def create_collab_rule(
    services: AppServices, token_id: RowId, new: Annotated[NewRule, Depends(body(NewRule))]
) -> views.CollabRule:
    """Add a collab rule to a token."""
    async with services.database.writing() as session:
        return await rules.add(session, token_id, new)


@router.put("", response_model=views.CollabRules, openapi_extra=described(Rules))
async def replace_collab_rules(
    services: AppServices, token_id: RowId, new: Annotated[Rules, Depends(_whole_set)]
) -> Response:
    """Replace all collab rules of a token at once, or none of them."""
    # Encoded in parts, as one long call would stop other requests.
    encoded: list[bytes] = []
    async with services.database.writing() as session:
        async for batch in rules.replace(session, token_id, new.rules):
            encoded += [rule.model_dump_json().encode() for rule in batch]
    content = b'{"rules":[' + b",".join(encoded) + b"]}"
    return Response(content, media_type="application/json")


@router.get("/{rule_id}")
async def get_collab_rule(
    services: AppServices, token_id: RowId, rule_id: RowId
) -> views.CollabRule:
    """Read one collab rule of a token."""
    async with services.database.reading() as session:
        return await rules.read(session, token_id, rule_id)


@router.patch("/{rule_id}", openapi_extra=described(RuleChange))
async def change_collab_rule(
    services: AppServices,
    token_id: RowId,
    rule_id: RowId,
    change: Annotated[RuleChange, Depends(body(RuleChange))],
) -> views.CollabRule:
    """Change pattern, action or description of a collab rule, whose type stays."""
    async with services.database.writing() as session:
        return await rules.change(session, token_id, rule_id, change)


@router.delete("/{rule_id}", status_code=204)
async def delete_collab_rule(services: AppServices, token_id: RowId, rule_id: RowId) -> None:
    """Remove a collab rule from a token."""
    async with services.database.writing() as session:
        await rules.remove(session, token_id, rule_id)
