"""What `explain` answers, as `/openapi.json` describes it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from gateway.explaining.layers import Outcome
from gateway.management.bodies import schema_of
from policy.vocabulary import Layer, RuleAction, RuleType

Verdict = Literal["allowed", "refused", "failed"]


class Member(BaseModel):
    """Root of all parts: camelCase, and nothing besides."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class LayerStep(Member):
    layer: Layer
    outcome: Outcome
    detail: str | None


class NewRule(Member):
    rule_type: RuleType
    pattern: str
    action: RuleAction


class DecidingRule(NewRule):
    id: int


class RootField(Member):
    key: str
    field: str
    outcome: Verdict
    layer: Layer | None
    error: str | None


class Change(Member):
    """`settings` and `expiresAt` as PATCH takes them; `removeRules` are ids."""

    settings: dict[str, Any]
    expires_at: str | None = None
    add_rules: list[NewRule]
    remove_rules: list[int]
    text: str


class Explanation(Member):
    """How a call would go. `fields` is there for documents alone."""

    outcome: Verdict
    status: int
    error: str | None
    message: str | None
    layers: list[LayerStep]
    rule: DecidingRule | None
    hidden_fields: dict[str, list[str]]
    fields: list[RootField] | None = None
    change: Change | None
    unchangeable: str | None
    partial_change: Change | None
    rehearsals: int


def answered(model: type[BaseModel]) -> dict[str, Any]:
    """Return the `openapi_extra` that documents *model* as the answer."""
    content = {"application/json": {"schema": schema_of(model)}}
    return {"responses": {"200": {"description": "The explanation.", "content": content}}}
