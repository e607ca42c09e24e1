"""Documents over any schema: fragments, aliases, repeated fields, directives, variables."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType

from graphql import (
    get_named_type,
    is_abstract_type,
    is_enum_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    type_from_ast,
)

DEEPEST = 4


@dataclass
class Writer:
    """Writes one document; two writers with the same seed write the same."""

    schema: object
    random: Random
    fragments: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    left: int = 14  # fields
    seed: float = field(init=False)  # of the arguments

    def __post_init__(self) -> None:
        self.seed = self.random.random()

    def document(self) -> str:
        """Write one operation, now and then without a name, or two of them."""
        draw = self.random.random()
        names = ["Case", "Other"] if draw < 0.1 else ["" if draw < 0.2 else "Case"]
        written = [self._operation(name) for name in names]
        return "\n".join([*written, *self.fragments.values()])

    def _operation(self, name: str) -> str:
        kind = "mutation" if self.random.random() < 0.15 else "query"
        root = self.schema.mutation_type if kind == "mutation" else self.schema.query_type
        alone = self.random.random() < 0.3
        body = f"{{ {self._field(root, 0)} }}" if alone else self.selection(root, 0)
        head = ", ".join(f"${name}: {type_}" for name, type_ in self.variables.items())
        return f"{kind} {name}({head}) {body}" if head else f"{kind} {name} {body}"

    def selection(self, owner, depth: int) -> str:
        parts = [self._part(owner, depth) for _ in range(self.random.randint(1, 4))]
        if self.random.random() < 0.3:
            parts.append(self.random.choice(parts))
        return "{ " + " ".join(parts) + " }"

    def _part(self, owner, depth: int) -> str:
        draw = self.random.random()
        if draw < 0.06 or (is_abstract_type(owner) and not hasattr(owner, "fields")):
            return self._typed(owner, depth) if is_abstract_type(owner) else "__typename"
        if draw < 0.14:
            return f"... {self._directive()} {self.selection(owner, depth)}"
        if draw < 0.2:
            return f"... on {owner.name} {self._directive()} {self.selection(owner, depth)}"
        if draw < 0.3:
            return f"...{self._fragment(owner, depth)} {self._directive()}"
        return self._field(owner, depth)

    def _typed(self, owner, depth: int) -> str:
        chosen = self.random.choice(self.schema.get_possible_types(owner))
        return f"... on {chosen.name} {self.selection(chosen, depth)}"

    def _fragment(self, owner, depth: int) -> str:
        known = [name for name in self.fragments if name.startswith(f"{owner.name}_")]
        if known and self.random.random() < 0.5:
            return self.random.choice(known)
        body = self.selection(owner, depth)
        name = f"{owner.name}_{len(self.fragments)}"
        self.fragments[name] = f"fragment {name} on {owner.name} {body}"
        return name

    def _field(self, owner, depth: int) -> str:
        if owner is self.schema.query_type and self.random.random() < 0.05:
            return self.random.choice(_ABOUT_THE_SCHEMA)
        self.left -= 1
        fields = owner.fields
        if depth >= DEEPEST or self.left < 0:
            fields = {n: f for n, f in fields.items() if is_leaf_type(get_named_type(f.type))}
        if not fields:
            return "__typename"
        name = self.random.choice(list(fields))
        alias = f"{name}_{self.random.choice('ab')}: " if self.random.random() < 0.25 else ""
        named = get_named_type(fields[name].type)
        below = "" if is_leaf_type(named) else self.selection(named, depth + 1)
        return f"{alias}{name}{self._arguments(owner, name)} {self._directive()} {below}"

    def _arguments(self, owner, name: str) -> str:
        """Write the same arguments wherever a field occurs, or it could not be merged."""
        choice = Random(f"{self.seed}.{owner.name}.{name}")
        written = []
        for argument, defined in owner.fields[name].args.items():
            draw = choice.random()
            if draw < 0.3 and not is_non_null_type(defined.type):
                continue
            if draw < 0.7:
                written.append(f"{argument}: ${self._variable(f'v_{name}_{argument}', defined)}")
            else:
                value = literal(defined.type, choice, WITHIN)
                self.variables |= {n: t for t, n in WITHIN.items() if f"${n}" in value}
                written.append(f"{argument}: {value}")
        return f"({', '.join(written)})" if written else ""

    def _variable(self, name: str, defined) -> str:
        default = ""
        if not is_non_null_type(defined.type) and Random(name).random() < 0.5:
            default = f" = {literal(defined.type, Random(name))}"
        self.variables[name] = f"{defined.type}{default}"
        return name

    def _directive(self) -> str:
        draw = self.random.random()
        if draw > 0.16:
            return ""
        kind = "skip" if draw < 0.08 else "include"
        if self.random.random() < 0.4:
            return f"@{kind}(if: {self.random.choice(['true', 'false'])})"
        name = f"when{self.random.choice('XY')}"
        self.variables[name] = "Boolean = true" if name == "whenX" else "Boolean!"
        return f"@{kind}(if: ${name})"


# Type -> the variable that may stand within a literal.
WITHIN = {"String": "inText", "Int": "inNumber", "Colour": "inColour"}
_ABOUT_THE_SCHEMA = [
    "__schema { queryType { name fields { name } } }",
    'about: __type(name: "Query") { kind name }',
]


def literal(type_, random: Random, variables: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write a value of an input type as a document does; *variables* by the type they fit."""
    if is_non_null_type(type_):
        return _literal(type_.of_type, random, variables)
    draw = random.random()
    if str(type_) in variables and draw > 0.6:
        return f"${variables[str(type_)]}"
    return "null" if draw < 0.1 else _literal(type_, random, variables)


def _literal(type_, random: Random, variables: Mapping[str, str]) -> str:
    if is_list_type(type_):
        return f"[{literal(type_.of_type, random, variables)}]"
    if is_enum_type(type_):
        return random.choice(list(type_.values))
    if hasattr(type_, "fields"):
        members = (f"{n}: {literal(f.type, random, variables)}" for n, f in type_.fields.items())
        return "{" + ", ".join(members) + "}"
    return random.choice(_LITERALS[type_.name])


_LITERALS = {
    "String": ['"text"', '""'],
    "ID": ['"id"', "7"],
    "Int": ["0", "3"],
    "Long": ["1099511627776"],
    "Float": ["1.5"],
    "Boolean": ["true", "false"],
    "DateTime": ['"2026-11-20"', '"2026-11-20T12:00:00+01:00"'],
    "FileContent": ['"aGVsbG8="', '"not base64"'],
    "JSON": ['{a: "b"}'],
}


def variables(schema, operation, random: Random) -> dict[str, object]:
    """Give values for the variables of *operation*, unfit ones now and then."""
    values: dict[str, object] = {"unknown": 1} if random.random() < 0.05 else {}
    for definition in operation.variable_definitions or ():
        draw = random.random()
        type_ = type_from_ast(schema, definition.type)
        absent = not is_non_null_type(type_) or definition.default_value
        if draw < (0.3 if absent else 0.04):
            continue
        values[definition.variable.name.value] = value(type_, random)
    return values


def value(type_, random: Random) -> object:
    """Give a value of an input type as JSON does."""
    draw = random.random()
    if draw < 0.01:
        return random.choice(["odd", 2**40, True, None, [], {}, 1.0])
    if is_non_null_type(type_):
        return _value(type_.of_type, random)
    return None if draw < 0.06 else _value(type_, random)


def _value(type_, random: Random) -> object:
    if is_list_type(type_):
        return [value(type_.of_type, random) for _ in range(random.randint(0, 2))]
    if is_enum_type(type_):
        return random.choice(list(type_.values))
    if hasattr(type_, "fields"):
        return {name: value(field.type, random) for name, field in type_.fields.items()}
    return random.choice(_VALUES[type_.name])


_VALUES = {
    "String": ["text", ""],
    "ID": ["id"],
    "Int": [0, 3],
    "Long": [2**40],
    "Float": [1.5],
    "Boolean": [True, False],
    "DateTime": ["2026-11-20", "2026-11-20T12:00:00Z"],
    "FileContent": ["aGVsbG8=", "not base64"],
    "JSON": [{"a": 1}],
}
