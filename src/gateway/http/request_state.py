"""The state of one request, from the middleware to the record of its decision."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from starlette.types import Scope

from gateway.audit.recorder import RequestRecord
from graph.request_log import Denial
from policy.caller import Caller
from policy.quota import RateLimitResult

if TYPE_CHECKING:  # heavy, and only loaded when traces are wanted
    from gateway.telemetry.tracing import RequestSpan

KEY = "gateway.request_state"  # in the ASGI scope


class RequestState(msgspec.Struct):
    """
    The state of one request, in its ASGI scope.

    Attributes:
        verdict: The tightest rate-limit verdict so far; None when nothing was checked.
        status: The status of the response; 0 before the response began.
        span: The request's span; None when requests are not traced.
        token_id: The id of the token that called; None before it is known.
        authenticated: Whether the credential is a valid token or secret.
        refusal: What stopped the request before it had a record; None when nothing did.
        record: What the request's row of the decision log is made from; None before there is one.
        by_link: Whether the credential is a signed link instead of a token.
        caller: The caller, if it was authenticated before the call was known.
        end_turn: Gives its slot of `admission_control` to others, though its response goes on.
    """

    request_id: str
    verdict: RateLimitResult | None = None
    status: int = 0
    span: "RequestSpan | None" = None
    token_id: int | None = None
    authenticated: bool = False
    refusal: Denial | None = None
    record: RequestRecord | None = None
    by_link: bool = False
    caller: Caller | None = None
    end_turn: Callable[[], None] = lambda: None

    @property
    def denial(self) -> Denial | None:
        """The refusal or failure of the request; None when nothing stopped it."""
        return self.record.denial if self.record is not None else self.refusal

    def record_verdict(self, verdict: RateLimitResult) -> None:
        """Keep *verdict* for the rate headers if it is the tightest, or a refusal."""
        if verdict.allowed and not verdict.limit:
            return  # there was no window
        if (
            self.verdict is None
            or not verdict.allowed
            or verdict.remaining < self.verdict.remaining
        ):
            self.verdict = verdict


def request_state(scope: Scope) -> RequestState:
    """Return the state of the request that *scope* describes; a new one outside the middleware."""
    state = scope.get(KEY)
    return state if isinstance(state, RequestState) else RequestState(str(uuid4()))


def end_turn(scope: Scope) -> None:
    """Give the slot of a request to others, though its response goes on."""
    request_state(scope).end_turn()
