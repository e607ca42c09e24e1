"""Result of a dry run: the response the caller would get and the exception that caused it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gateway.explain.dry_run import DryRunState
from graph import errors
from graph.effects import WriteHeld
from graph.request_log import WHOLE_REQUEST
from policy.refusals import Blocked, Refusal
from policy.vocabulary import LAYER_BY_CODE, Code, Layer, Surface
from providers.failures import ProviderFailure
from rest_compat.responses import RestResponse
from rest_compat.table import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDenial:
    """
    The denial of a call or of a root field of a document.

    Attributes:
        error: The code in the response; None where it is null.
        problem: The exception; None when the request was invalid before any layer was asked.
        key: Response key of the root field; empty for the whole call.
    """

    layer: Layer
    code: Code
    error: str | None
    message: str
    status: int
    surface: Surface | None
    problem: BaseException | None = None
    key: str = WHOLE_REQUEST

    @property
    def failed(self) -> bool:
        """Whether something did not work, rather than being refused."""
        return self.status >= 500 or isinstance(self.problem, ProviderFailure)

    @property
    def signature(self) -> object:
        """A value that is equal for denials with the same reason."""
        problem = self.problem
        resource: object = None
        if isinstance(problem, Blocked) and problem.facts is not None:
            facts = problem.facts
            location = (facts.item, facts.list_id, facts.list_item_id, facts.site_id)
            resource = (problem.action, *location)
        rule_id = problem.rule_id if isinstance(problem, Refusal) else None
        return self.key, self.layer, self.code, self.message, rule_id, resource


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """
    Result of a dry run.

    Attributes:
        status: HTTP status of the response.
        denials: In the order of the response; empty when the call is allowed.
        reached_write: The call reached its first write, which was not sent.
    """

    state: DryRunState
    status: int
    denials: tuple[ExplainedDenial, ...] = ()
    reached_write: bool = False

    @property
    def held(self) -> bool:
        """Whether the message of the call would be left as a draft."""
        return not self.denials and self.state.held

    @property
    def denial(self) -> ExplainedDenial | None:
        """The denial that the response reports; None when the call is allowed."""
        return self.denials[0] if self.denials else None

    @classmethod
    def of_call(
        cls, state: DryRunState, endpoint: Endpoint | None, reply: RestResponse
    ) -> "DryRunResult":
        """Return the result of a REST call from its reply."""
        if not reply.errors or isinstance(reply.causes[0], WriteHeld):
            return cls(state=state, status=reply.status)
        surface = endpoint.surface if endpoint is not None else None
        logged = errors.denial(reply.causes[0], surface=surface)
        denial = ExplainedDenial(
            layer=logged.layer,
            code=logged.code,
            error=reply.error,
            message=reply.errors[0]["message"],
            status=reply.status,
            surface=surface,
            problem=reply.causes[0],
        )
        return cls(state=state, status=reply.status, denials=(denial,))

    @classmethod
    def of_document(cls, state: DryRunState, reply: RestResponse) -> "DryRunResult":
        """Return the result of a document from the errors of its reply."""
        causes = reply.causes or (None,) * len(reply.errors)
        pairs = zip(reply.errors, causes, strict=True)
        denied = [pair for pair in pairs if not isinstance(pair[1], WriteHeld)]
        denials = (_explain(state, *pair) for pair in denied)
        return cls(state=state, status=reply.status, denials=tuple(denials))


def _explain(
    state: DryRunState, error: Mapping[str, Any], problem: BaseException | None
) -> ExplainedDenial:
    extensions = error["extensions"]
    code = Code(extensions["code"])
    operation = state.operation
    key = operation.key_of(error.get("path")) if operation is not None else WHOLE_REQUEST
    surface = None
    if operation is not None:
        surfaces = {field.key: field.surface for field in state.fields}
        surface = surfaces.get(key, operation.surface)
    layer = LAYER_BY_CODE[code]
    if problem is not None:
        layer = errors.denial(problem, surface=surface).layer
    return ExplainedDenial(
        layer=layer,
        code=code,
        error=code.value,
        message=error["message"],
        status=extensions["httpStatus"],
        surface=surface,
        problem=problem,
        key=key,
    )
