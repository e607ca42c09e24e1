"""Layers of error codes, and their order (docs/spec/errors.md#layers-of-codes)."""

from collections import Counter
from types import SimpleNamespace

import pytest

from policy import gates
from policy.grants import Grant
from policy.refusals import (
    AccessDenied,
    Blocked,
    FieldNotVisible,
    NoSuchProvider,
    NotFound,
    NoUsableConnection,
    OperationNotAllowed,
    ReadOnlyConnection,
    Refusal,
    SurfaceNotEnabled,
    Unauthenticated,
)
from policy.rule_facts import UNKNOWN, Facts, Rule
from policy.rules import RuleSet
from policy.vocabulary import (
    _CODES,
    LAYER_BY_CODE,
    CalendarOp,
    Code,
    EmailField,
    EmailOp,
    Layer,
    RuleAction,
    RuleType,
    Surface,
    UnauthorizedReason,
)


def test_layers_have_the_order_of_the_checks():
    assert [layer.value for layer in Layer] == [
        "address_limit",
        "token",
        "quota",
        "document",
        "surface",
        "connections",
        "operation",
        "input",
        "usable_connection",
        "scope",
        "upstream",
        "mask",
    ]


def test_every_code_belongs_to_exactly_one_layer():
    assert set(LAYER_BY_CODE) == set(Code)
    assert tuple(_CODES) == tuple(Layer)
    assert Counter(code for codes in _CODES.values() for code in codes) == Counter(Code)


@pytest.mark.parametrize(
    ("refusal", "layer"),
    [
        (Unauthenticated(UnauthorizedReason.REVOKED), Layer.TOKEN),
        (SurfaceNotEnabled(Surface.EMAIL), Layer.SURFACE),
        (NoSuchProvider(Surface.TASKS), Layer.CONNECTIONS),
        (OperationNotAllowed(EmailOp.SEND_EMAIL), Layer.OPERATION),
        (NoUsableConnection(Surface.COLLAB), Layer.USABLE_CONNECTION),
        (ReadOnlyConnection(), Layer.USABLE_CONNECTION),
        (Blocked(), Layer.SCOPE),
        (NotFound("No email with this id."), Layer.UPSTREAM),
        (FieldNotVisible("The filter from", EmailField.FROM), Layer.MASK),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Refusal) else str(value),
)
def test_a_refusal_carries_the_layer_that_raised_it(refusal, layer):
    assert refusal.layer is layer
    assert LAYER_BY_CODE[refusal.code] is layer


def test_a_calendar_token_whose_level_is_too_low_is_refused_by_the_flags():
    grant = Grant.read({"calendarAccessEnabled": True, "calendarAccessLevel": "free_busy_only"})
    calendar = SimpleNamespace(kind="calendar")

    with pytest.raises(AccessDenied) as caught:
        gates.admit(Surface.CALENDAR, [CalendarOp.VIEW_EVENTS], grant, [calendar])

    assert (caught.value.code, caught.value.layer) == (Code.ACCESS_DENIED, Layer.OPERATION)


@pytest.mark.parametrize(
    ("facts", "rule"),
    [
        (Facts(site_id="host,a,b"), 3),  # surely
        (Facts(site_id="host,c,d", label_ids=UNKNOWN), 5),  # cannot be ruled out
        (Facts(site_id="host,c,d"), None),
    ],
)
def test_the_blocking_rule_is_reported(facts, rule):
    rules = RuleSet.compile(
        [
            Rule(3, RuleType.SITE_ID, "host,a,b", RuleAction.BLOCK),
            Rule(4, RuleType.SITE_ID, "host,c,d", RuleAction.ALLOW),
            Rule(5, RuleType.SENSITIVITY_LABEL_ID, "secret", RuleAction.BLOCK),
        ],
        allow_by_default=False,
    )

    assert rules.blocking_rule(facts) == rule
    assert rules.decide(facts).rule_id == (4 if rule is None else rule)
    assert Blocked(rule).rule_id == rule
