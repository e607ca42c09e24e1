"""How a rehearsal went: the answer that callers would get, and what stands behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.explain.dry_run import DryRunState
from graph import errors
from graph.request_log import WHOLE_REQUEST
from policy.refusals import Blocked, Refusal
from policy.vocabulary import LAYER_BY_CODE, Code, Layer, Surface
from providers.failures import ProviderFailure
from rest_compat.table import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedDenial:
    """
    What stops a call, or a root field of a document.

    Attributes:
        key: Of the root field in the response; empty for the whole call.
        error: The word that callers see; null where they see none.
        problem: None when the words of the request were wrong before anything was asked.
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
        """Whether nobody refused: something did not work."""
        return self.status >= 500 or isinstance(self.problem, ProviderFailure)

    @property
    def signature(self) -> object:
        """What is the same for the same reason."""
        problem = self.problem
        about: object = None
        if isinstance(problem, Blocked) and problem.facts is not None:
            facts = problem.facts
            about = (problem.action, facts.item, facts.list_id, facts.list_item_id, facts.site_id)
        rule = problem.rule_id if isinstance(problem, Refusal) else None
        return self.key, self.layer, self.code, self.message, rule, about


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunResult:
    """
    How a rehearsal went.

    Attributes:
        stops: In the order that callers are told of; none when the call is allowed.
        unsent: It came as far as its first change, which was not sent.
    """

    play: DryRunState
    status: int
    stops: tuple[ExplainedDenial, ...] = ()
    unsent: bool = False

    @property
    def stop(self) -> ExplainedDenial | None:
        """What the answer is about; None when the call is allowed."""
        return self.stops[0] if self.stops else None

    @classmethod
    def ended(cls, play: DryRunState, *, status: int) -> "DryRunResult":
        """Of a call that would have changed something: nothing stopped it."""
        return cls(play=play, status=status, unsent=True)

    @classmethod
    def answered(
        cls, play: DryRunState, endpoint: Endpoint | None, *, status: int, body: bytes
    ) -> "DryRunResult":
        """Of a call of the table that was answered."""
        if status < 400:
            return cls(play=play, status=status)
        told: Mapping[str, Any] = orjson.loads(body)
        problem = _behind(play, told["message"])
        surface = endpoint.surface if endpoint is not None else None
        if problem is not None:
            ruling = errors.denial(problem, surface=surface)
            code, layer = ruling.code, ruling.layer
        else:  # wrong before the graph was asked; a word is missing only where nothing is
            code, layer = Code(told["error"] or Code.NOT_FOUND), Layer.INPUT
        stop = ExplainedDenial(
            layer=layer,
            code=code,
            error=told["error"],
            message=told["message"],
            status=status,
            surface=surface,
            problem=problem,
        )
        return cls(play=play, status=status, stops=(stop,))

    @classmethod
    def told(
        cls, play: DryRunState, *, status: int, errors: Sequence[Mapping[str, Any]]
    ) -> "DryRunResult":
        """Of a document that was answered."""
        return cls(play=play, status=status, stops=tuple(_stop(play, one) for one in errors))


def _behind(play: DryRunState, message: str) -> BaseException | None:
    """Return what the *message* of an answer is the sentence of."""
    known = [*play.problems.values(), play.refusal]
    return next((one for one in known if one and errors.message(one) == message), None)


def _stop(play: DryRunState, told: Mapping[str, Any]) -> ExplainedDenial:
    extensions = told["extensions"]
    code = Code(extensions["code"])
    key = str(told["path"][0]) if told.get("path") else WHOLE_REQUEST
    problem = play.problems.get(key) or _behind(play, told["message"])
    surface = None
    if play.operation is not None:
        surfaces = {one.key: one.surface for one in play.root_fields}
        surface = surfaces.get(key, play.operation.surface)
    layer = LAYER_BY_CODE[code]
    if problem is not None:
        layer = errors.denial(problem, surface=surface).layer
    return ExplainedDenial(
        layer=layer,
        code=code,
        error=code.value,
        message=told["message"],
        status=extensions["httpStatus"],
        surface=surface,
        problem=problem,
        key=key,
    )
