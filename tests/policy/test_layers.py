"""Which layer answers with which code: every code has one, and the order is that of decisions 2."""

from collections import Counter

import pytest

from policy.refusals import (
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
from policy.vocabulary import (
    _CODES,
    LAYERS,
    Code,
    EmailField,
    EmailOp,
    Layer,
    Surface,
    UnauthorizedReason,
)


def test_the_layers_are_asked_in_the_order_of_the_checks():
    assert [layer.value for layer in Layer] == [
        "address_limit",
        "token",
        "quota",
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
    assert set(LAYERS) == set(Code)
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
def test_a_refusal_is_told_by_the_layer_that_makes_it(refusal, layer):
    assert LAYERS[refusal.code] is layer
