"""Loads the GraphQL documents of the endpoints, with the fragments they use."""

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import graphql

# Members of a response that are left out when empty
# (docs/spec/requests.md#access-info-and-warnings).
OMITTED_WHEN_EMPTY = ("accessInfo", "authWarnings", "held")

_SPREAD = re.compile(r"\.\.\.\s*(?!on\b)([A-Za-z_]\w*)")
_WORD = re.compile(r"(?<!^)(?=[A-Z])")


def document(name: str) -> str:
    """
    Return the text of "email/list_emails", with the fragments it uses.

    The fragment `EmailParts` is in the file `_email_parts.graphql` of the same folder.
    """
    folder, _, file = name.rpartition("/")
    texts = [_text(folder, file)]
    pending = _SPREAD.findall(texts[0])
    included = set[str]()
    while pending:
        fragment = pending.pop(0)
        if fragment not in included:
            included.add(fragment)
            texts.append(_text(folder, "_" + _WORD.sub("_", fragment).lower()))
            pending += _SPREAD.findall(texts[-1])
    return "\n".join(texts)


@cache
def root_members(name: str) -> tuple[str, ...]:
    """
    Return the response members that the root field of "email/send_email" selects, in order.

    Those that are left out when empty are none of them.
    """
    operation, *_ = graphql.parse(document(name)).definitions
    if not isinstance(operation, graphql.OperationDefinitionNode):
        raise TypeError(f"{name} does not begin with its operation")
    root, *_ = operation.selection_set.selections
    if not isinstance(root, graphql.FieldNode) or root.selection_set is None:
        return ()
    selected = root.selection_set.selections
    fields = [node for node in selected if isinstance(node, graphql.FieldNode)]
    names = [(node.alias or node.name).value for node in fields]
    return tuple(name for name in names if name not in OMITTED_WHEN_EMPTY)


def operations() -> Traversable:
    """Return the folder that holds one folder of documents per surface."""
    return files("rest_compat") / "operations"


@cache
def _text(folder: str, file: str) -> str:
    return (operations() / folder / f"{file}.graphql").read_text("utf-8")
