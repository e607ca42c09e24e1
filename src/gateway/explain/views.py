"""The API's Explanation object: its members, their types and their descriptions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from gateway.audit import decision
from gateway.explain import layers
from gateway.operations.json_schemas import Long, Moment, View, about, enum_of
from gateway.operations.views import LayerWord, SurfaceWord
from policy.vocabulary import RuleAction, RuleType


class LayerStep(View):
    """What one layer said of a call."""

    layer: Annotated[LayerWord, about("In the order in which they check a call.")]
    outcome: Annotated[str, enum_of(layers.LayerOutcome), about("What it said.")]
    detail: Annotated[str | None, about("The reason; null if there is none.")]


class RuleToAdd(View):
    """A collab rule as `POST …/collab-rules` takes it."""

    rule_type: Annotated[
        str, about("The property that the pattern is compared with."), enum_of(RuleType)
    ]
    pattern: Annotated[str, about("In its stored form, without prefixes.")]
    action: Annotated[
        str, about("Whether matching objects are allowed or blocked."), enum_of(RuleAction)
    ]


class DecidingRule(RuleToAdd):
    """The collab rule that decided."""

    id: Annotated[Long, about("Its id.")]


class RootField(View):
    """The outcome that one root field or edge of a document would have."""

    key: Annotated[str, about("Its name in the response.")]
    field: Annotated[str, about("Its name in the schema.")]
    outcome: Annotated[str, enum_of(decision.Outcome), about("The outcome.")]
    layer: Annotated[LayerWord | None, about("The layer that refuses; null if none does.")]
    error: Annotated[str | None, about("The code word that the caller sees.")]


class TokenChange(View):
    """The smallest change that was found, as the management API takes it."""

    settings: Annotated[Any, about("For PATCH of the token.")]
    expires_at: Annotated[Moment, about("For PATCH of the token; absent: it stays.")] = 0
    add_rules: Annotated[list[RuleToAdd], about("Collab rules to add.")]
    remove_rules: Annotated[list[Long], about("Ids of collab rules to remove.")]
    text: Annotated[str, about("The change in words.")]


class Explanation(View):
    """How a call would go with a token, layer by layer, and what would let it pass."""

    outcome: Annotated[
        str,
        enum_of(decision.Outcome),
        about("`failed`: no layer refuses the call, but it would fail."),
    ]
    status: Annotated[int, about("The HTTP status of the response.")]
    dry_run: Annotated[
        bool, about("Whether the call is itself a dry run, and would write nothing.")
    ]
    error: Annotated[str | None, about("The error code of the response; null for a success.")]
    message: Annotated[str | None, about("The error message of the response; null for a success.")]
    layers: Annotated[
        list[LayerStep], about("Every layer, in the order in which they check the call.")
    ]
    rule: Annotated[DecidingRule | None, about("The collab rule that decides; null: none alone.")]
    hidden_fields: Annotated[
        Mapping[SurfaceWord, Sequence[str]], about("The mask words that hide requested fields.")
    ]
    fields: Annotated[list[RootField], about("For a document: each root field and edge.")] = []  # noqa: RUF012 - of a pydantic model
    refused_by: Annotated[
        Long | None,
        about(
            "Of a child token: the token that refuses, itself or the highest one from which it was "
            "made; null: none does."
        ),
    ] = None
    change: Annotated[
        TokenChange | None,
        about("The change that would allow the call; null if none is needed or none would help."),
    ]
    unchangeable: Annotated[
        str | None,
        about(
            "Why no change of the token would allow the call; null if one would or none is needed."
        ),
    ]
    partial_change: Annotated[
        TokenChange | None,
        about("With `unchangeable`: the change that removes the refusals of earlier layers."),
    ]
    rehearsals: Annotated[int, about("The number of dry runs.")]
