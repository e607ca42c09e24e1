"""From the rules of a request body to rows, and from rows to the Rule object. Decisions 4."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import WithJsonSchema

from gateway.management.bodies import Body, Text
from gateway.operations import views
from gateway.store import timestamps
from gateway.store.tables import AccessToken, CollabRule
from policy import patterns
from policy.refusals import Conflict, Detail, InvalidInput
from policy.vocabulary import Code, RuleAction, RuleType

# Read by hand, for codes of their own.
TypeWord = Annotated[Any, WithJsonSchema({"type": "string", "enum": [*RuleType]})]
Pattern = Annotated[Any, WithJsonSchema({"type": "string"})]
ActionWord = Annotated[Any, WithJsonSchema({"type": "string", "enum": [*RuleAction]})]


class NewRule(Body):
    rule_type: TypeWord
    pattern: Pattern
    action: ActionWord
    description: Text | None = None


def all_made(token: AccessToken, listed: Sequence[NewRule]) -> list[CollabRule]:
    """
    Make the rows of a list of rules; what is wrong is named by its place.

    Raises:
        InvalidInput: Type, pattern or action of one are none.
        Conflict: Two are the same.
    """
    rows: dict[tuple[str, str, str], CollabRule] = {}
    for position, new in enumerate(listed):
        try:
            row = made(token, new)
        except InvalidInput as refusal:
            place = f"rules[{position}].{_MEMBERS[refusal.code]}"
            raise InvalidInput(
                f"{place}: {refusal.message}",
                code=refusal.code,
                details=[Detail(place, refusal.message)],
            ) from None
        key = row.rule_type, row.pattern, row.action
        if key in rows:
            raise Conflict(
                f"rules[{position}] is the same as one before it.", code=Code.DUPLICATE_RULE
            )
        rows[key] = row
    return list(rows.values())


# The member of a rule that a refusal is about.
_MEMBERS: Mapping[Code, str] = MappingProxyType(
    {
        Code.INVALID_RULE_TYPE: "ruleType",
        Code.INVALID_PATTERN: "pattern",
        Code.INVALID_ACTION: "action",
    }
)


def made(token: AccessToken, new: NewRule) -> CollabRule:
    """
    Make the row of a rule.

    Raises:
        InvalidInput: Type, pattern or action are none.
    """
    rule_type, action = _rule_type(new.rule_type), read_action(new.action)
    now = timestamps.now_ms()
    return CollabRule(
        token_id=token.id or 0,
        rule_type=rule_type.value,
        pattern=patterns.normalise(rule_type, new.pattern, action),
        action=action.value,
        description=new.description,
        source="manual",
        created_at=now,
        updated_at=now,
    )


def read_action(word: object) -> RuleAction:
    """
    Read an action.

    Raises:
        InvalidInput: `INVALID_ACTION`.
    """
    if word not in [member.value for member in RuleAction]:
        raise InvalidInput("action must be allow or block.", code=Code.INVALID_ACTION)
    return RuleAction(word)


def view(row: CollabRule) -> views.CollabRule:
    """Return the rule object of decisions 4."""
    return {
        "id": row.id or 0,
        "ruleType": row.rule_type,
        "pattern": row.pattern,
        "action": row.action,
        "description": row.description,
        "source": row.source,
        "createdAt": timestamps.to_text(row.created_at),
        "updatedAt": timestamps.to_text(row.updated_at),
    }


def _rule_type(word: object) -> RuleType:
    if word not in [member.value for member in RuleType]:
        known_types = ", ".join(RuleType)
        raise InvalidInput(f"ruleType must be one of: {known_types}.", code=Code.INVALID_RULE_TYPE)
    return RuleType(word)
