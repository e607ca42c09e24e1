"""Names for request bodies and enumerations in the OpenAPI document, as generated clients show."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from gateway.audit.decision import EntryPoint, Outcome
from gateway.auth.token_status import Status
from gateway.connections import rows as connection_rows
from gateway.explain.layers import LayerOutcome
from policy import vocabulary as words
from rest_compat.openapi.schema_values import JsonSchema, nullable, schema_ref

_ENUMERATIONS: Mapping[str, Iterable[str]] = {
    "AccessTokenStatus": Status,
    "AgentTools": words.AgentTools,
    "CalendarAccessLevel": words.CalendarAccessLevel,
    "CollabOperation": words.CollabOp,
    "ConnectionMode": connection_rows.MODES,
    "ConnectionStatus": connection_rows.STATUSES,
    "DecisionOutcome": Outcome,
    "EmailOperation": words.EmailOp,
    "EntryPoint": EntryPoint,
    "ErrorCode": words.Code,
    "Layer": words.Layer,
    "LayerOutcome": LayerOutcome,
    "MaskMode": words.MaskMode,
    "RuleAction": words.RuleAction,
    "RuleType": words.RuleType,
    "SearchTotals": words.SearchTotals,
    "SendMode": words.SendMode,
    "Surface": words.Surface,
    "TaskOperation": words.TaskOp,
    "TaskProvider": words.TaskProvider,
    "WriteMode": words.WriteMode,
    "VisibleCalendarField": (*words.CalendarField, words.ALL),
    "VisibleCollabField": (*words.CollabField, words.ALL),
    "VisibleEmailField": (*words.EmailField, words.ALL),
    "VisibleTaskField": (*words.TaskField, words.ALL),
    "AllowedCollabOperation": (*words.CollabOp, *words.COLLAB_COMPOSITES),
    "AllowedEmailOperation": (*words.EmailOp, *words.EMAIL_COMPOSITES),
    "AllowedTaskOperation": (*words.TaskOp, *words.TASK_COMPOSITES),
}
_NAMES: Mapping[frozenset[str], str] = MappingProxyType(
    {frozenset(map(str, members)): name for name, members in _ENUMERATIONS.items()}
)


# Names of constraints of values that are read from text, and of settings -> JSON Schema's.
_CONSTRAINTS: Mapping[Any, str] = {"ge": "minimum", "le": "maximum", "gt": "exclusiveMinimum"}


class NamedSchemas:
    """
    The schemas of a description that have names.

    Attributes:
        schemas: The enumerations and request bodies that were named so far.
    """

    def __init__(self) -> None:
        self.schemas: dict[str, JsonSchema] = {}

    def body(self, operation: JsonSchema) -> JsonSchema:
        """Return *operation* with its request body as the component `CreateTokenRequest`."""
        if "requestBody" not in operation:
            return operation
        body = operation["requestBody"]
        ((media_type, content),) = body["content"].items()
        operation_id = operation["operationId"]
        name = f"{operation_id[:1].upper()}{operation_id[1:]}Request"
        self.schemas[name] = self.plain(content["schema"])
        named = {media_type: {**content, "schema": schema_ref(name)}}
        return {**operation, "requestBody": {**body, "content": named}}

    def plain(self, schema: Any) -> Any:
        """
        Return *schema* as the other description would have it.

        Each known enumeration is a reference to its component, unions with null are short, titles,
        which only repeat names, are left out, and constraints have the names of JSON Schema.
        """
        if isinstance(schema, list):
            return [self.plain(part) for part in schema]
        if not isinstance(schema, dict):
            # FastAPI writes bounds as floats.
            return int(schema) if isinstance(schema, float) else schema
        plain: JsonSchema = {
            _CONSTRAINTS.get(key, key): self.plain(part)
            for key, part in schema.items()
            if key != "title" or not isinstance(part, str)
        }
        match plain:
            case {"anyOf": [value, {"type": "null"}], **others} if "$ref" not in value:
                plain = {**nullable(value), **others}
        members = plain.get("enum", ())
        name = _NAMES.get(frozenset(members) - {None})
        if name is None:
            return plain
        texts = [member for member in members if member is not None]
        self.schemas[name] = {"type": "string", "enum": texts}
        reference = schema_ref(name)
        rest = {key: part for key, part in plain.items() if key not in {"type", "enum"}}
        return {**(nullable(reference) if None in members else reference), **rest}
