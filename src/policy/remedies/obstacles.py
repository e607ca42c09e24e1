"""Sentences for refusals that no change of the token remedies, with what an operator can do."""

from collections.abc import Iterable

from policy import refusals
from policy.gates import Connection
from policy.vocabulary import Code, Layer, Surface


def describe_obstacle(
    problem: BaseException | None, connections: Iterable[Connection], surface: Surface | None
) -> str:
    """
    Explain why no change of the token lets the refused call pass.

    *problem* is the exception that stopped it; None for a request that could not be parsed.
    """
    if problem is None:
        return _WRONG_REQUEST
    if not isinstance(problem, refusals.Refusal):
        return "The provider failed or refused the call; no setting of the token is the reason."
    if isinstance(problem, refusals.NoSuchProvider):
        return (
            f"The token's operator has no such {surface} connection on its resources: connect an "
            "account, link the operator to the resource again, or link the token to another one."
        )
    if isinstance(problem, refusals.NoUsableConnection):
        states = _states(connections, surface)
        return f"No connection can be used ({states}): reconnect one, or set it to active."
    if isinstance(problem, refusals.ReadOnlyConnection):
        states = _states(connections, surface)
        return f"No suitable connection may write ({states}): connect one with write scopes."
    if problem.code is Code.CONNECTION_NOT_FOUND:
        return "The token does not reach the requested connection: use another one."
    if problem.layer is Layer.INPUT:
        return _WRONG_REQUEST
    return next(
        (sentence for kind, sentence in _SENTENCES if isinstance(problem, kind)),
        "No setting of the token is the reason.",
    )


_WRONG_REQUEST = "The request itself is wrong; no setting of the token is the reason."
_SENTENCES: tuple[tuple[type[refusals.Refusal], str], ...] = (
    (refusals.Unauthenticated, "A revoked token stays revoked: create another one."),
    (refusals.TooManyRequests, "Too many requests came in a short time: wait."),
    (refusals.NotFound, "The token's connections see no resource with this id."),
    (refusals.Blocked, "No rule would allow this call."),
    (refusals.EffectChanged, "The call would do something else than its dry run showed."),
    (refusals.ChildrenNotAllowed, "A token with three ancestors has no child tokens."),
    (refusals.WiderThanParent, "A child token allows no more than the token: ask for less."),
    (
        refusals.AccessDenied,
        (
            "The resource does not exist, or the account behind the connection may not do this: "
            "its provider decides that, or the scopes that it granted."
        ),
    ),
)


def _states(connections: Iterable[Connection], surface: Surface | None) -> str:
    return ", ".join(
        f"{connection.id} is {_state(connection)}"
        for connection in connections
        if connection.kind == surface
    )


def _state(connection: Connection) -> str:
    if connection.status != "active":
        link = connection.reconnect_url
        return connection.status if link is None else f"{connection.status}: {link}"
    return "active" if connection.can_write else "active with read scopes only"
