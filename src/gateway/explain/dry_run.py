"""State of one dry run: for whom it runs, and what it met so far."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.explain.subject import Subject
from graph.context import Context
from graph.documents.operation import Operation
from graph.request_log import OperationField
from policy.quota import Window
from policy.vocabulary import Layer


@dataclass(frozen=True, slots=True)
class RateWindow:
    """A rate window before the call, with the number of operations spent in it."""

    layer: Layer
    window: Window
    spent: int


@dataclass(kw_only=True)
class DryRunState:
    """
    State of a dry run.

    Attributes:
        address: Client address of the call; None when unknown.
        variables: The variables of a document.
        costs: Bucket -> number of operations, once known.
    """

    subject: Subject
    address: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, int] = field(default_factory=dict)
    limits: list[RateWindow] = field(default_factory=list)
    context: Context | None = None
    operation: Operation | None = None

    @property
    def fields(self) -> Sequence[OperationField]:
        """The root fields and edges that run; none when the operation is unknown."""
        return self.operation.running_fields(self.variables) if self.operation is not None else ()

    @property
    def held(self) -> bool:
        """Whether the message of the call would be left as a draft, if nothing refuses the call."""
        return self.context is not None and self.context.held

    @property
    def previewed(self) -> bool:
        """Whether the call is itself a dry run, and would write nothing."""
        return self.context is not None and self.context.is_dry_run
