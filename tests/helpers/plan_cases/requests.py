"""Requests whose root fields hang on fragments, directives and variables, in every combination."""

import re
from dataclasses import dataclass

from graphql import get_named_type, is_leaf_type, is_required_argument
from hypothesis import strategies as st

from graph.edge_table import EDGES

ABSENT = object()
FLAGS = st.sampled_from([True, False, True, False, None, "odd"])
NUMBERS = st.sampled_from([3, 1000, 40.0, 0, None, True, "odd"])
TEXTS = st.sampled_from(["providerA:b1", "providerA:b2", None, 7])
MAIL = {"to": [{"email": "x@example.com"}], "subject": "s", "body": "b"}

# Variable -> how it is declared, what is given for it.
VARIABLES = {
    "flag": ("Boolean!", FLAGS),
    "yes": ("Boolean = true", FLAGS | st.just(ABSENT)),
    "no": ("Boolean! = false", FLAGS | st.just(ABSENT)),
    "number": ("Int", NUMBERS | st.just(ABSENT)),
    "five": ("Int = 5", NUMBERS | st.just(ABSENT)),
    "text": ("String", TEXTS | st.just(ABSENT)),
    "id": ("String!", TEXTS),
    "own": ('String! = "providerA:own"', TEXTS | st.just(ABSENT)),
    "folder": ("CreateDriveFolderInput!", st.just({"name": "n"})),
    "mail": ("SendEmailInput!", st.just(MAIL)),
}
CONDITIONS = ("flag", "yes", "no")
IDS = ['"providerA:a1"', "$id", "$own"]
MAYBE = ["", "null", '"place"', "$text", "$own"]
LIMITS = ["", "2", "500", "$number", "$five"]

# Root field -> its arguments, each with what may be written for it.
FIELDS = {
    "Query": {
        "emails": {"limit": LIMITS},
        "email": {"emailId": IDS},
        "taskProviders": {},
        "taskItems": {"boardId": IDS, "limit": LIMITS},
        "collabFiles": {"folderId": MAYBE, "siteId": MAYBE, "limit": LIMITS},
        "collabListItem": {"siteId": IDS, "listId": IDS, "itemId": IDS},
        "accessToken": {},
    },
    "Mutation": {
        "deleteEmail": {"emailId": IDS},
        "sendEmail": {"input": ["$mail"]},
        "createFolder": {"input": ["$folder", '{name: "n"}']},
        "deleteListItem": {"siteId": IDS, "listId": IDS, "itemId": IDS},
    },
}


@dataclass(frozen=True)
class Request:
    """A posted request; the document is valid, the variables need not be."""

    text: str
    variables: dict
    operation: str | None


@st.composite
def requests(draw, schema):
    """Write a document over *schema*, and variables for it."""
    kind = draw(st.sampled_from(["Query", "Query", "Mutation"]))
    writer = Writer(schema, draw, kind)
    body = writer.selection(schema.type_map[kind], 0)
    used = [name for name in VARIABLES if f"${name}" in _reached(body, writer.fragments)]
    text = f"{kind.lower()} Main{_declared(used)} {body}"
    operation = None
    if used and draw(st.integers(0, 3)) == 0:  # the same name is of another type elsewhere
        name = draw(st.sampled_from(used))
        text += f" query Other(${name}: Boolean!) {{ accessToken @skip(if: ${name}) {{ id }} }}"
        operation = "Main"
    variables = {name: draw(VARIABLES[name][1]) for name in used}
    return Request(
        " ".join([text, *writer.fragments.values()]),
        {name: value for name, value in variables.items() if value is not ABSENT},
        operation,
    )


def _declared(used):
    return f"({', '.join(f'${name}: {VARIABLES[name][0]}' for name in used)})" if used else ""


def _reached(text, fragments):
    """Return *text* with the fragments it spreads, and those that they spread."""
    waiting, met = [text], {}
    for part in waiting:
        for name in re.findall(r"\.\.\.(\w+_\d+)", part):
            if name not in met:
                met[name] = fragments[name]
                waiting.append(fragments[name])
    return " ".join(waiting)


class Writer:
    """Writes the selections of one document."""

    def __init__(self, schema, draw, kind):
        self.fragments = {}
        self._schema = schema
        self._draw = draw
        self._root = kind
        self._arguments = {}  # by response key: fields of one key are merged
        self._left = 16  # parts

    def selection(self, owner, depth):
        count = self._draw(st.integers(1, 3 if depth < 3 else 1))
        return f"{{ {' '.join(self._part(owner, depth) for _ in range(count))} }}"

    def _part(self, owner, depth):
        self._left -= 1
        shape = self._draw(st.integers(0, 9)) if self._left > 0 else 9
        if shape < 2:
            on = self._draw(st.sampled_from(["", f"on {owner.name} "]))
            return f"... {on}{self._directives()} {self.selection(owner, depth)}"
        if shape < 5:
            return f"...{self._fragment(owner, depth)}{self._directives()}"
        return self._field(owner, depth)

    def _fragment(self, owner, depth):
        known = [name for name in self.fragments if name.startswith(f"{owner.name}_")]
        if known and self._draw(st.booleans()):
            return self._draw(st.sampled_from(known))
        body = self.selection(owner, depth)
        name = f"{owner.name}_{len(self.fragments)}"
        self.fragments[name] = f"fragment {name} on {owner.name} {body}"
        return name

    def _field(self, owner, depth):
        known = FIELDS[owner.name] if owner.name == self._root else self._plain(owner, depth)
        name = self._draw(st.sampled_from([*known, "__typename"]))
        alias = self._draw(st.sampled_from(["", "", f"{name.strip('_')}_a: "]))
        if name == "__typename":
            return f"{alias}{name}{self._directives()}"
        named = get_named_type(owner.fields[name].type)
        below = "" if is_leaf_type(named) else f" {self.selection(named, depth + 1)}"
        written = self._written(alias, name) if owner.name == self._root else ""
        return f"{alias}{name}{written}{self._directives()}{below}"

    def _written(self, alias, name):
        key = alias or name
        if key not in self._arguments:
            chosen = {
                argument: self._draw(st.sampled_from(values))
                for argument, values in FIELDS[self._root][name].items()
            }
            arguments = ", ".join(
                f"{argument}: {value}" for argument, value in chosen.items() if value
            )
            self._arguments[key] = f"({arguments})" if arguments else ""
        return self._arguments[key]

    def _plain(self, owner, depth):
        optional = {
            name: field
            for name, field in owner.fields.items()
            if not any(map(is_required_argument, field.args.values()))
        }
        edges = [edge.name for edge in EDGES if edge.owner == owner.name and edge.name in optional]
        plain = [
            name
            for name, field in optional.items()
            if (depth < 4 and self._left > 0) or is_leaf_type(get_named_type(field.type))
        ]
        return [*edges, *plain] if self._left > 0 else plain  # edges more often than others

    def _directives(self):
        kinds = self._draw(st.sampled_from(["", "", "", "", "s", "i", "si", "is"]))
        words = {"s": "skip", "i": "include"}
        conditions = st.sampled_from(["true", "false", *(f"${name}" for name in CONDITIONS)])
        return "".join(f" @{words[kind]}(if: {self._draw(conditions)})" for kind in kinds)
