"""One rehearsal under way: who it is for, and what was met so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.explain.subject import Subject
from graph.context import Context
from graph.documents.operation import Operation
from graph.request_log import RootField
from policy.quota import Window
from policy.refusals import Refusal
from policy.vocabulary import Layer


@dataclass(frozen=True, slots=True)
class RateWindow:
    """A rate window as it stood; *spent* requests of it are used."""

    layer: Layer
    window: Window
    spent: int


@dataclass(kw_only=True)
class DryRunState:
    """
    A rehearsal.

    Attributes:
        address: Where the call would come from; None when that is not known.
        given: The variables of a document.
        costs: Bucket -> number of operations, once that is known.
        refusal: Of the door or of a gate.
    """

    subject: Subject
    address: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict)
    limits: list[RateWindow] = field(default_factory=list)
    context: Context | None = None
    operation: Operation | None = None
    refusal: Refusal | None = None

    @property
    def root_fields(self) -> Sequence[RootField]:
        """The root fields that run; none when the operation is not known."""
        return self.operation.running_root_fields(self.given) if self.operation is not None else ()

    @property
    def problems(self) -> Mapping[str, BaseException]:
        """What stopped root fields, by their keys in the response."""
        return (self.context.request_log.causes or {}) if self.context is not None else {}
