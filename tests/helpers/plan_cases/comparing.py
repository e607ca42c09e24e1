"""One case: a document run by its plan and by graphql-core alone, and what differed."""

import re
from asyncio import CancelledError
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from unittest.mock import patch

import msgspec
from graphql import (
    ExecutionResult,
    GraphQLError,
    NoUnusedVariablesRule,
    OperationDefinitionNode,
    parse,
    specified_rules,
    validate,
)
from plan_cases.documents import Writer, variables
from plan_cases.schemas import Subject
from plan_cases.values import Values

from graph.execution import counting_executor
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.program import Program

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass
class CaseContext:
    """Values for resolvers, which depend on the case and the path alone."""

    subject: Subject
    seed: str
    wrong: float
    hidden: frozenset[str]
    budget: int | None
    plan: Any = None
    caller: None = None
    log: list = field(default_factory=list)

    def give(self, info) -> Any:
        """Give what the resolver at this path returns, or raise."""
        path = ".".join(map(str, info.path.as_list()))
        values = Values(self.subject.schema, f"{self.seed}/{path}", wrong=self.wrong)
        if values.random.random() < self.wrong / 2:
            raise LookupError(f"nothing at {path}")
        return values.of(info.return_type)


@dataclass
class Tally:
    """Counts of the cases' contents, so that empty cases are noticed."""

    runs: int = 0
    failed: int = 0
    planned: int = 0
    stepped: int = 0
    mixed: int = 0


# Variables that only the other operation asks for are no matter.
RULES = [rule for rule in specified_rules if rule is not NoUnusedVariablesRule]
RUNS = 6  # of one document
HOW_WRONG = (0, 0.02, 0.05, 0.15)


async def differences(
    subject: Subject, seed: str, tally: Tally, how_wrong: Sequence[float] = HOW_WRONG
) -> list[str]:
    """
    Run the document of *seed* for several masks and variables; return the differences.

    *how_wrong* is how often values are wrong, 0 to 1, one of which is drawn per run.
    """
    random = Random(seed)
    text = Writer(subject.schema, random).document()
    document = parse(text)
    if validate(subject.schema, document, RULES):
        return []
    operations = [
        definition
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    operation = random.choice(operations)
    program = Program(subject.schema, document, operation, PlanCache(50))
    differences = []
    for number in range(RUNS):
        wrong = random.choice(how_wrong)
        hidden = frozenset(field_name for field_name in subject.maskable if random.random() < 0.3)
        budget = random.choice([None, None, 25_000, random.randint(0, 12)])
        values = variables(subject.schema, operation, random)
        case = f"{seed}/{number}", wrong, hidden if number else frozenset(), budget
        by_plan, alone = CaseContext(subject, *case), CaseContext(subject, *case)
        with patch.object(counting_executor, "shape_of", _whole_schema):
            planned = await _seen(program.run(values, by_plan), by_plan)
            interpreted = await _seen(program.interpret(values, alone), alone)
        _count(tally, by_plan, interpreted)
        if planned != interpreted:
            lines = (
                f"{name}: {planned.get(name)!r}\n  not {interpreted.get(name)!r}"
                for name in {**planned, **interpreted}
                if planned.get(name) != interpreted.get(name)
            )
            differences.append("\n".join([f"case {case} {values}", text, *lines]))
    return differences


def _whole_schema(schema, _caller):
    """Show a case's introspection everything: it has no caller."""
    return schema


def _count(tally: Tally, context: CaseContext, other: dict) -> None:
    tally.runs += 1
    tally.failed += bool(other["errors"])
    tally.planned += context.plan is not None
    steps = context.plan.steps.values() if context.plan else ()
    tally.stepped += any(not step.remaining for step in steps)
    tally.mixed += bool(context.plan and context.plan.mixed_steps)


async def _seen(running: Awaitable[ExecutionResult], context: CaseContext) -> dict[str, Any]:
    cancelled = False
    try:
        result = await running
    except CancelledError:  # of something that was awaited, as we are not
        result, cancelled = ExecutionResult(None, None), True
    return {
        "cancelled": cancelled,
        "data": _plain(result.data),
        "json": _json(result.data),
        "errors": [_described(error) for error in result.errors or ()],
        "budget": None if result.errors or cancelled else context.budget,
        "log": sorted(context.log, key=repr),
    }


def _plain(data: Any) -> Any:
    """Make order part of what is compared, and every odd value comparable."""
    if isinstance(data, msgspec.Struct):
        fields = msgspec.structs.fields(type(data))
        pairs = ((field.encode_name, getattr(data, field.name)) for field in fields)
        return [(key, _plain(value)) for key, value in pairs if value is not msgspec.UNSET]
    if isinstance(data, dict):
        return [(key, _plain(value)) for key, value in data.items()]
    if isinstance(data, list | tuple | set | frozenset):  # JSON that a plan reads as a list
        return [_plain(value) for value in data]
    if isinstance(data, set | frozenset):  # within a scalar of any value: JSON has lists alone
        return sorted(map(_plain, data), key=repr)
    if type(data).__name__ == "datetime":
        return _json(data).strip('"')
    if isinstance(data, str):
        return _ADDRESS.sub("", data)
    return data if isinstance(data, int | None) else _ADDRESS.sub("", repr(data))


def _json(data: Any) -> Any:
    try:
        return _ADDRESS.sub("", msgspec.json.encode(data).decode())
    except (TypeError, ValueError, OverflowError) as problem:
        return type(problem).__name__


def _described(error: GraphQLError) -> tuple:
    original = error.original_error
    return (
        _ADDRESS.sub("", error.message),
        error.path,
        error.locations,
        error.extensions,
        type(original).__name__,
    )
