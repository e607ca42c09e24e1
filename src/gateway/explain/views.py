"""The API's Explanation object: its members, their types and their descriptions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from gateway.audit import decision
from gateway.explain import layers
from gateway.operations.json_schemas import Keywords, enum_of
from gateway.operations.settings_views import CHANGE
from gateway.operations.views import Long, MomentText
from policy.vocabulary import Layer, RuleAction, RuleType, Surface


class LayerStep(TypedDict):
    """What one layer said of a call."""

    layer: Annotated[Layer, "In the order in which they check a call."]
    outcome: Annotated[layers.LayerOutcome, "What it said."]
    detail: Annotated[str | None, "The reason; null if there is none."]


class RuleToAdd(TypedDict):
    """A collab rule as `POST …/collab-rules` takes it."""

    ruleType: Annotated[str, "The property that the pattern is compared with.", enum_of(RuleType)]
    pattern: Annotated[str, "In its stored form, without prefixes."]
    action: Annotated[str, "Whether matching objects are allowed or blocked.", enum_of(RuleAction)]


class DecidingRule(RuleToAdd):
    """The collab rule that decided."""

    id: Annotated[Long, "Its id."]


class RootField(TypedDict):
    """The outcome that one root field or edge of a document would have."""

    key: Annotated[str, "Its name in the response."]
    field: Annotated[str, "Its name in the schema."]
    outcome: Annotated[decision.Outcome, "The outcome."]
    layer: Annotated[Layer | None, "The layer that refuses; null if none does."]
    error: Annotated[str | None, "The code word that the caller sees."]


class TokenChange(TypedDict):
    """The smallest change that was found, as the management API takes it."""

    settings: Annotated[Any, "For PATCH of the token.", Keywords(**CHANGE)]
    expiresAt: NotRequired[Annotated[MomentText, "For PATCH of the token; absent: it stays."]]
    addRules: Annotated[list[RuleToAdd], "Collab rules to add."]
    removeRules: Annotated[list[Long], "Ids of collab rules to remove."]
    text: Annotated[str, "The change in words."]


class Explanation(TypedDict):
    """How a call would go with a token, layer by layer, and what would let it pass."""

    outcome: Annotated[decision.Outcome, "`failed`: no layer refuses the call, but it would fail."]
    status: Annotated[int, "The HTTP status of the response."]
    dryRun: Annotated[bool, "Whether the call is itself a dry run, and would write nothing."]
    error: Annotated[str | None, "The error code of the response; null for a success."]
    message: Annotated[str | None, "The error message of the response; null for a success."]
    layers: Annotated[list[LayerStep], "Every layer, in the order in which they check the call."]
    rule: Annotated[DecidingRule | None, "The collab rule that decides; null: none alone."]
    hiddenFields: Annotated[
        Mapping[Surface, Sequence[str]], "The mask words that hide requested fields."
    ]
    fields: NotRequired[Annotated[list[RootField], "For a document: each root field and edge."]]
    refusedBy: NotRequired[
        Annotated[
            Long | None,
            "Of a child token: the token that refuses, itself or the highest one from which it was "
            "made; null: none does.",
        ]
    ]
    change: Annotated[
        TokenChange | None,
        "The change that would allow the call; null if none is needed or none would help.",
    ]
    unchangeable: Annotated[
        str | None,
        "Why no change of the token would allow the call; null if one would or none is needed.",
    ]
    partialChange: Annotated[
        TokenChange | None,
        "With `unchangeable`: the change that removes the refusals of earlier layers.",
    ]
    rehearsals: Annotated[int, "The number of dry runs."]
