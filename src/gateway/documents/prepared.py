"""The schema, and the documents of the table; each is prepared once per interpreter."""

from functools import cache

from graph import schema
from graph.documents.operations import Graph
from rest_compat.documents import OMITTED_WHEN_EMPTY
from rest_compat.ports import Operation


@cache
def graph() -> Graph:
    """Build the schema once, however often a process is assembled."""
    return Graph(schema.build())


class TableDocuments:
    """`rest_compat.ports.Graph`: operations are immutable, so they are shared."""

    @staticmethod
    @cache
    def prepare(text: str) -> Operation:
        """Prepare a document of the table."""
        return graph().prepare_rest(text, omit_when_empty=OMITTED_WHEN_EMPTY)
