"""Generated documents that follow edges over all surfaces, up to three of them in a row."""

from random import Random

from edge_documents import PARENTS, filled, options_for
from graphql import get_named_type, is_leaf_type, is_required_argument

from graph.edges import edge_of
from graph.schema import build

_RANDOM = {"nextPageToken"}  # sealed anew for each answer
_DEEPEST = 5  # levels of objects below the list


def document(random: Random, variables: dict[str, str], *, lists: int | None = None) -> str:
    """Write a document of *lists*, one or two if None, whose objects lead to others."""
    calls = []
    for number in range(lists or random.randint(1, 2)):
        owner = random.choice(list(PARENTS))
        text, _ = random.choice(PARENTS[owner])
        text = filled(text.replace("limit: 24", "limit: 6"), variables)
        selected = _selection(build().type_map[owner], random, _DEEPEST)
        calls.append(f"d{number}: {text.replace('{ # }', filled(selected, variables))}")
    return f"{{ {' '.join(calls)} }}"


def _selection(type_, random: Random, levels: int) -> str:
    """Select leaves and, at random, objects and edges of *type_*."""
    leaves, below = [], []
    for name, field in type_.fields.items():
        named = get_named_type(field.type)
        is_needy = edge_of(field) is None and any(map(is_required_argument, field.args.values()))
        if name in _RANDOM or is_needy:
            continue
        if is_leaf_type(named):
            leaves.append(name)
        elif levels and random.random() < (0.4 if edge_of(field) else 0.6):
            written = _options(field, random)
            below.append(f"{name}{written} {_selection(named, random, levels - 1)}")
    chosen = [name for name in leaves if random.random() < 0.6]
    return f"{{ __typename {' '.join([*chosen, *below])} }}"


def _options(field, random: Random) -> str:
    edge = edge_of(field)
    options = random.choice(options_for(edge)) if edge is not None else ""
    if not options:
        return ""
    bounded = options if "limit" in options or "limit" not in field.args else f"{options}, limit: 3"
    return f"({bounded})"
