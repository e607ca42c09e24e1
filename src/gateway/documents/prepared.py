"""The schema, and the documents of the table; each is prepared once per interpreter."""

from functools import cache

from graph import schema
from graph.documents.operations import Graph
from graph.documents.rest_operation import RestOperation
from rest_compat.documents import OMITTED_WHEN_EMPTY


@cache
def graph() -> Graph:
    """Build the schema once, however often a process is assembled."""
    return Graph(schema.build())


@cache
def of_table(text: str) -> RestOperation:
    """Prepare a document of the table; operations are immutable, so they are shared."""
    return graph().prepare_rest(text, omit_when_empty=OMITTED_WHEN_EMPTY)
