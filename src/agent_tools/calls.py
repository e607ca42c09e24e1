"""Runs a document as a call of REST: the same checks, limits, decision log and idempotency."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from agent_tools import arguments
from agent_tools.rows import ToolCall
from graph.documents.operation import Variable
from graph.documents.saved_operation import SavedOperation
from policy.refusals import Refusal
from rest_compat.held.stored_calls import StoredCall
from rest_compat.ledger import KEY_HEADER
from rest_compat.preferences import EFFECT_HEADER
from rest_compat.readers import Body
from rest_compat.request import RestRequest
from rest_compat.saved.endpoint import SavedResponder
from rest_compat.table import Endpoint, RateBucket

PATH = "/mcp"


class CallRequest(RestRequest, frozen=True, kw_only=True):
    """
    A call of one document, made within the request of an agent.

    Attributes:
        sent: The arguments.
        others: Arguments of the tool that fill no variable.
        stated: The headers of the call; those of the agent's request state nothing about it.
        refused: What is wrong with the arguments that chose the document; after the gates.
    """

    sent: Mapping[str, Any]
    others: tuple[str, ...]
    stated: Mapping[str, str]
    refused: Refusal | None = None

    def header_values(self, name: str) -> list[str]:
        return [self.stated[name]] if name in self.stated else []


def call_request(  # noqa: PLR0913 - what a call has
    request: RestRequest,
    sent: Mapping[str, Any],
    *,
    others: Iterable[str],
    key: Any = None,
    effect: str | None = None,
    refused: Refusal | None = None,
) -> CallRequest:
    """
    Build the call that *request* makes.

    *key* is its idempotency key, *effect* the digest that its effect must have.
    """
    stated = {KEY_HEADER: key, EFFECT_HEADER: effect}
    return CallRequest(
        scope={**request.scope, "query_string": b""},
        receive=request.receive,
        sent={name: value for name, value in sent.items() if value is not None},
        others=tuple(others),
        stated={name: str(value) for name, value in stated.items() if value is not None},
        refused=refused,
    )


@dataclass(frozen=True, kw_only=True)
class CallResponder(SavedResponder):
    """
    Handler of one document of a tool.

    Attributes:
        call: How its arguments fill the variables.
        saved: The name of the saved document that it is; None for those of the table.
    """

    call: ToolCall
    saved: str | None = None

    @cached_property
    def saved_name(self) -> str | None:
        """The name of the saved document."""
        return self.saved

    @cached_property
    def body(self) -> Variable | None:
        """None: arguments fill the variables."""
        return None

    def variables(
        self,
        request: RestRequest,
        path: Mapping[str, str],  # noqa: ARG002 - see `Responder`
        body: Body | None,  # noqa: ARG002
        *,
        strict: bool,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return the variables that the arguments of the call fill."""
        if not isinstance(request, CallRequest):
            raise TypeError(request)
        if request.refused is not None:
            raise request.refused
        return arguments.variables(self.call, self.operation, request.sent, others=request.others)

    def stored(self, request: RestRequest, variables: Mapping[str, Any]) -> StoredCall:
        """Return the call as a request to `POST /graphql`."""
        del request
        return StoredCall(orjson.dumps({"query": self.document, "variables": variables}))


def endpoint_of(operation: SavedOperation, name: str) -> Endpoint:
    """Return the row of a document: charged like its root field and edges, keyed if it writes."""
    charges = operation.charges
    return Endpoint(
        method="POST" if operation.kind == "mutation" else "GET",
        path=PATH,
        prefix=PATH,
        document=name,
        surface=None,
        bucket=RateBucket(windows=next(iter(charges)), costs=tuple(charges.items())),
    )
