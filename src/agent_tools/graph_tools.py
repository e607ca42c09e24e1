"""The schema of a token by topic, and read-only documents: docs/spec/agents.md#graph."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import graphql
import orjson
from graphql import GraphQLNamedType, GraphQLSchema

from agent_tools.answers import MAX_ANSWER, MAX_TEXT, Answer, fenced
from agent_tools.refusals import refusal
from policy.vocabulary import Code, not_known

MAX_TOKENS = 2_000  # of a document; docs/spec/graphql.md#document-limits
MAX_NAME = 80  # characters that the last line takes
SCHEMA, QUERY = "graph_schema", "graph_query"
_READS = {"readOnlyHint": True}
DEFINITIONS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        SCHEMA: {
            "name": SCHEMA,
            "description": "GraphQL schema by topic: a field of Query, or a type; none: topics.",
            "inputSchema": {"type": "object", "properties": {"topic": {"type": "string"}}},
            "annotations": {**_READS, "openWorldHint": False},
        },
        QUERY: {
            "name": QUERY,
            "description": "Run a read-only GraphQL document.",
            "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "variables": {"type": "object"}},
                "required": ["query"],
            },
            "annotations": _READS,
        },
    }
)


def describe(shape: GraphQLSchema, topic: Any) -> Answer:
    """Return *topic* and the types that it leads to, at most `MAX_TEXT` long; or the topics."""
    fields = shape.query_type.fields if shape.query_type is not None else {}
    if topic is None:
        summaries = {
            name: (field.description or "").split("\n")[0] for name, field in fields.items()
        }
        return Answer(text="\n".join(f"{name}: {about}" for name, about in summaries.items()))
    field, start, text = fields.get(str(topic)), shape.type_map.get(str(topic)), ""
    if field is not None:
        arguments = ", ".join(f"{name}: {each.type}" for name, each in field.args.items())
        text = f"{topic}({arguments}): {field.type}" if arguments else f"{topic}: {field.type}"
        start = graphql.get_named_type(field.type)
    if start is None or start.name.startswith("__"):
        reason = not_known(list(fields), name=str(topic))
        return refusal(Code.NOT_FOUND, f"topic {reason}.", "Or name a type.")
    for type_ in _reached(start):
        printed = graphql.print_type(type_)
        if len(text) + len(printed) + MAX_NAME > MAX_TEXT:
            return Answer(text=f"{text}\n\nmore: ask for {type_.name}")
        text = f"{text}\n\n{printed}".strip()
    return Answer(text=text)


def read_only(sent: Mapping[str, Any]) -> bytes | Answer:
    """Return the request that runs the document; or the refusal of one that may write."""
    query, variables = sent.get("query"), sent.get("variables") or {}
    if not isinstance(query, str) or not isinstance(variables, dict):
        sentence = "query must be a text, and variables an object."
        return refusal(Code.VALIDATION_ERROR, sentence, "Change them and call again.")
    try:
        document = graphql.parse(query, max_tokens=MAX_TOKENS, no_location=True)
    except graphql.GraphQLError as error:
        return refusal(Code.GRAPHQL_PARSE_FAILED, error.message, "See graph_schema.")
    definitions = document.definitions
    operations = [each for each in definitions if isinstance(each, graphql.OperationDefinitionNode)]
    if any(each.operation is not graphql.OperationType.QUERY for each in operations):
        sentence = "graph_query runs queries; this document can write."
        return refusal(Code.OPERATION_NOT_ALLOWED, sentence, "Use the tools that write.")
    return orjson.dumps({"query": query, "variables": variables})


def _reached(start: GraphQLNamedType | None) -> Iterator[GraphQLNamedType]:
    """Yield *start* and the types that its fields lead to, nearest first."""
    pending, seen = [start], set[str]()
    while pending:
        type_ = pending.pop(0)
        if type_ is None or type_.name in seen or graphql.is_specified_scalar_type(type_):
            continue
        seen.add(type_.name)
        yield type_
        fields = getattr(type_, "fields", {}).values()
        pending += [graphql.get_named_type(field.type) for field in fields]


def answer_of(body: bytes) -> Answer:
    """Return the answer for the response of a document."""
    response = orjson.loads(body)
    if response.get("errors") and not any((response.get("data") or {}).values()):
        error = response["errors"][0]
        extensions = error.get("extensions", {})
        repair = "Select less." if extensions.get("code") == Code.QUERY_TOO_COSTLY else ""
        return refusal(
            extensions.get("code", Code.GRAPHQL_VALIDATION_FAILED), error["message"], repair
        )
    shown = {name: response[name] for name in ("data", "errors") if response.get(name)}
    answer = fenced(shown)
    if len(answer.text) > MAX_ANSWER:
        return refusal(
            Code.TOO_LARGE,
            f"The result has {len(answer.text)} characters; {MAX_ANSWER} are the most.",
            "Select less, or lower limit.",
        )
    return answer
