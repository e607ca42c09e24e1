"""The API's Explanation object: its members, their types and their descriptions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

from gateway.audit import decision
from gateway.explain import layers
from gateway.operations.json_schemas import Keywords, enum_of
from gateway.operations.settings_views import CHANGE
from gateway.operations.views import Long, Moment
from policy.vocabulary import Layer, RuleAction, RuleType, Surface


class LayerStep(TypedDict):
    """What one layer said of a call."""

    layer: Annotated[Layer, "In the order in which they are asked."]
    outcome: Annotated[layers.LayerOutcome, "What it said."]
    detail: Annotated[str | None, "On what ground; null: there is nothing to say."]


class RuleToAdd(TypedDict):
    """A collab rule as `POST …/collab-rules` takes it."""

    ruleType: Annotated[str, "What the pattern is compared with.", enum_of(RuleType)]
    pattern: Annotated[str, "In its stored form, without prefixes."]
    action: Annotated[str, "What happens to what matches.", enum_of(RuleAction)]


class DecidingRule(RuleToAdd):
    """The collab rule that decided."""

    id: Annotated[Long, "Its id."]


class RootField(TypedDict):
    """How one root field of a document would go."""

    key: Annotated[str, "Its name in the response."]
    field: Annotated[str, "Its name in the schema."]
    outcome: Annotated[decision.Outcome, "How it would end."]
    layer: Annotated[Layer | None, "What stops it; null: nothing does."]
    error: Annotated[str | None, "The code word that the caller sees."]


class TokenChange(TypedDict):
    """The smallest change that was found, as the management API takes it."""

    settings: Annotated[Any, "For PATCH of the token.", Keywords(**CHANGE)]
    expiresAt: NotRequired[Annotated[Moment, "For PATCH of the token; absent: it stays."]]
    addRules: Annotated[list[RuleToAdd], "Collab rules to add."]
    removeRules: Annotated[list[Long], "Ids of collab rules to remove."]
    text: Annotated[str, "The change in words."]


class Explanation(TypedDict):
    """How a call would go with a token, layer by layer, and what would let it pass."""

    outcome: Annotated[decision.Outcome, "`failed`: nothing here refuses it, and it does not work."]
    status: Annotated[int, "What the caller would be answered with."]
    error: Annotated[str | None, "The code word that the caller would see; null: none."]
    message: Annotated[str | None, "The sentence that goes with it; null: the call is allowed."]
    layers: Annotated[list[LayerStep], "Every layer, in the order in which they are asked."]
    rule: Annotated[DecidingRule | None, "The collab rule that decides; null: none alone."]
    hiddenFields: Annotated[
        Mapping[Surface, Sequence[str]], "The mask words that hide some of what is asked for."
    ]
    fields: NotRequired[Annotated[list[RootField], "Of a document: each of its root fields."]]
    change: Annotated[TokenChange | None, "What would let it pass; null: nothing, or no need."]
    unchangeable: Annotated[
        str | None, "Why no change of the token would do; null: one does, or no need."
    ]
    partialChange: Annotated[TokenChange | None, "Then: what lifts the refusals before that."]
    rehearsals: Annotated[int, "How often the call was tried out."]
