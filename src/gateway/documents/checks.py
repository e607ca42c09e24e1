"""Checks of a document that is to be saved: docs/spec/saved-documents.md#checks."""

import graphql
from graphql import GraphQLError

from graph.documents.operations import Graph
from graph.documents.saved_operation import SavedOperation
from graph.shape import shape_of
from policy.caller import Caller
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code
from rest_compat.documents import OMITTED_WHEN_EMPTY
from rest_compat.saved.document import binding_problems, path_problem
from rest_compat.saved.methods import STATUSES

MAX_TEXT = 8_192  # characters; docs/spec/limits.md#sizes


# A shape lacks fields, arguments and members of inputs. A document that is valid for the schema
# breaks no other rule in it.
_USE_RULES = [
    graphql.FieldsOnCorrectTypeRule,
    graphql.KnownArgumentNamesRule,
    graphql.ValuesOfCorrectTypeRule,
]


def prepare(graph: Graph, text: str) -> SavedOperation:
    """
    Prepare a document.

    Raises:
        InvalidInput: It is not valid, exceeds a limit, or cannot be saved; the message says why.
    """
    try:
        return graph.prepare_saved(text, omit_when_empty=OMITTED_WHEN_EMPTY)
    except GraphQLError as error:
        line = f"Line {error.locations[0].line}: " if error.locations else ""
        is_syntax = isinstance(error, graphql.GraphQLSyntaxError)
        code = Code.GRAPHQL_PARSE_FAILED if is_syntax else Code.GRAPHQL_VALIDATION_FAILED
        raise _refused(f"{line}{error.message}", code) from None
    except InvalidInput as problem:
        raise _refused(problem.message, problem.code) from None


def require_bound(operation: SavedOperation, *, method: str, path: str, status: int) -> None:
    """
    Check that a call fills the variables of the document by the conventions of the table.

    Raises:
        InvalidInput: `VALIDATION_ERROR` with one detail per problem.
    """
    problems: list[tuple[str, str]] = []
    if method not in STATUSES:
        problems.append(("method", f"must be one of {', '.join(STATUSES)}"))
    wrong_path = path_problem(path)
    if wrong_path is not None:
        problems.append(("path", wrong_path))
    if not problems:
        if status not in STATUSES[method]:
            allowed = " or ".join(map(str, STATUSES[method]))
            problems.append(("status", f"must be {allowed} for {method}"))
        problems += binding_problems(method, path, operation.kind, operation.variables)
    if problems:
        field, reason = problems[0]
        raise InvalidInput(
            f"{field} {reason}.",
            code=Code.VALIDATION_ERROR,
            details=[Detail(field, reason) for field, reason in problems],
        )


def beyond_shape(graph: Graph, operation: SavedOperation, caller: Caller) -> str | None:
    """Name the part of a document that *caller* can never use; None: it can use all of it."""
    return outside(shape_of(graph.schema, caller), operation)


def outside(shape: graphql.GraphQLSchema, operation: SavedOperation) -> str | None:
    """Name the part of a document that is not in *shape*; None: all of it is."""
    problems = graphql.validate(
        shape, operation.program.document, _USE_RULES, 1, hide_suggestions=True
    )
    return problems[0].message if problems else None


def _refused(message: str, code: Code) -> InvalidInput:
    return InvalidInput(message, code=code, details=[Detail("document", message)])
