"""
Every regular expression of the code takes linear time, whatever text it meets.

Callers, strangers' mail and upstreams write the texts. The expressions are listed by their syntax
trees, so a new one is covered at once; the texts are built from the expression: its own pieces,
repeated, in near misses.
"""

import ast
import importlib
import math
import re
from collections import defaultdict
from functools import cache, partial
from re import _parser as sre_parser

import cpu_growth
import pytest
from cpu_growth import least_seconds, super_linear
from paths import REPOSITORY

from providers.catalogue.tables import CONNECTORS, MAIL_PREFIXES

SRC = REPOSITORY / "src"
FUNCTIONS = {
    "compile",
    "match",
    "fullmatch",
    "search",
    "sub",
    "subn",
    "split",
    "findall",
    "finditer",
}
METHODS = FUNCTIONS - {"compile"}

# An expression built from values that exist only inside a function or a comprehension: values to
# try it with, or a list of them.
VALUES = {
    "catalogue/tables.py": [
        {"path": path} for connector in CONNECTORS.values() for path in connector.item_paths
    ],
    "providers/ids.py": [{"code": code} for code in MAIL_PREFIXES],
    "content/field_selection.py": {"names": ["Title", "aa", "a a"]},
    "content/file_lister.py": {"part": "aa"},
    "providers/search_text.py": {"kind": "script"},
    "gmail/messages.py": {"name": "script"},
    "search/query.py": {"words": ["aa", "a a"]},
    "google_calendar/events.py": {"normalized": "aa aa"},
    "outlook_mail/rfc822.py": {"name": "Subject"},
}

# Sizes on the way up: an exponential expression fails before it takes forever.
LADDER = (*range(10, 100, 4), 200, 1000, 4000)  # an exponential growth shows at a short text
LADDER_SECONDS = 0.01


MODULES = [path for path in sorted(SRC.rglob("*.py")) if "migrations/versions" not in str(path)]


@cache
def tree(path):
    return ast.parse(path.read_text("utf-8"))


def is_re_call(node):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in FUNCTIONS
    )


@cache
def methods_by_name():
    """The methods called on each name anywhere: `_TAG.sub(…)`, `search_text.WORD.findall(…)`."""
    methods = defaultdict(set)
    for path in MODULES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                owner = node.value
                if isinstance(owner, ast.Name):
                    methods[str(path), owner.id].add(node.attr)
                elif isinstance(owner, ast.Attribute):
                    methods[owner.attr].add(node.attr)
    return methods


def passed_on(module):
    """The methods called on parameters: a function of the module is handed the expression."""
    parameters = {node.arg for node in ast.walk(module) if isinstance(node, ast.arg)}
    return {
        node.attr
        for node in ast.walk(module)
        if isinstance(node, ast.Attribute)
        and node.attr in METHODS - {"split"}
        and isinstance(node.value, ast.Name)
        and node.value.id in parameters
    }


def expressions(path):
    """Each expression of a module: where it stands, compiled, and the methods it is used with."""
    calls = [node for node in ast.walk(tree(path)) if is_re_call(node)]
    names = {
        node.value: node.targets[0].id
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    relative = path.relative_to(SRC)
    module = importlib.import_module(
        ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
    )
    values = next((v for end, v in VALUES.items() if str(relative).endswith(end)), {})
    for call in calls:
        methods = {call.func.attr}
        if methods == {"compile"}:
            name = names.get(call)
            used = methods_by_name()
            methods = used[str(path), name] | used[name] or passed_on(tree(path)) or METHODS
        for tried in values if isinstance(values, list) else [values]:
            yield f"{relative}:{call.lineno}", evaluated(call, vars(module) | tried), methods


def evaluated(call, namespace):
    arguments = [call.args[0]]
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    position = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    arguments += flags or call.args[position : position + 1]
    pattern, *flags = (
        eval(compile(ast.Expression(argument), "<expression>", "eval"), namespace)
        for argument in arguments
    )
    return re.compile(pattern, *flags)


# --- expressions that are linear by their form

MOST_WAYS = 1000  # through an expression from one position; each way is at most as long


def is_linear_by_form(pattern):
    """Tell whether few ways, all of them short, lead through an expression from any position."""
    tree = sre_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    return tree.getwidth()[1] <= MOST_WAYS and ways(tree) <= MOST_WAYS


def ways(tree):
    """Return at least the number of ways through *tree* from one position."""
    return math.prod(ways_of(str(op), value) for op, value in tree)


def ways_of(op, value):
    match op:
        case "BRANCH":
            return sum(map(ways, value[1]))
        case "SUBPATTERN":
            return ways(value[-1])
        case "ATOMIC_GROUP":
            return ways(value)
        case "ASSERT" | "ASSERT_NOT":
            return ways(value[1])
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            low, high, body = value
            return sum(ways(body) ** count for count in range(low, min(high, MOST_WAYS) + 1))
        case "GROUPREF_EXISTS":
            return MOST_WAYS + 1  # nobody uses them
        case _:
            return 1


# --- hostile texts


def characters(items):
    """A few members of a character class."""
    kinds = {
        "CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " \n", "CATEGORY_WORD": "a1_",
        "CATEGORY_NOT_DIGIT": "a", "CATEGORY_NOT_SPACE": "a", "CATEGORY_NOT_WORD": " .",
    }  # fmt: skip
    chars, negated = set(), False
    for op, value in items:
        match str(op):
            case "NEGATE":
                negated = True
            case "LITERAL":
                chars.add(chr(value))
            case "RANGE":
                chars |= {chr(value[0]), chr(value[1])}
            case "CATEGORY":
                chars |= set(kinds[str(value)])
    if negated:
        return [char for char in "a1 \n<\"'.,;=" if char not in chars]
    return sorted(chars)


class Pieces:
    """
    What the hostile texts of an expression are made of.

    Attributes:
        units: Texts to repeat: members of its classes, its literals, bodies of its repetitions.
        starts: Texts that match up to one of its repetitions.
        whole: A text that matches all of it, or nearly.
    """

    def __init__(self, pattern):
        self.units = {}
        self.starts = {"": None}
        tree = sre_parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self.whole = self.walk(tree, "")

    def walk(self, tree, before):
        """Return a text that matches *tree*; *before* matches what stands before it."""
        text = ""
        for op, value in tree:
            text += self.piece(str(op), value, before + text)
        return text

    def piece(self, op, value, before):
        match op:
            case "LITERAL":
                self.units[chr(value)] = None
                return chr(value)
            case "NOT_LITERAL":
                return "b" if chr(value) == "a" else "a"
            case "ANY":
                self.units |= dict.fromkeys("a ")
                return "a"
            case "IN":
                members = characters(value)
                self.units |= dict.fromkeys(members[:6])
                return members[0] if members else "a"
            case "BRANCH":
                texts = [self.walk(branch, before) for branch in value[1]]
                self.units |= dict.fromkeys(filter(None, texts))
                return texts[0]
            case "SUBPATTERN":
                return self.walk(value[-1], before)
            case "ATOMIC_GROUP":
                return self.walk(value, before)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, body = value
                self.starts[before] = None
                text = self.walk(body, before)
                if text:
                    self.units[text] = None
                return text * max(int(low), min(1, int(high)))
            case "ASSERT" | "ASSERT_NOT":
                self.walk(value[1], before)
                return ""
            case _:  # positions and references to groups
                return ""


def hostile_texts(pattern, *, whole):
    """Triples: a fixed beginning, a unit to repeat, and an ending that hardly matches."""
    pieces = Pieces(pattern)
    starts = dict.fromkeys([*pieces.starts, pieces.whole])
    longer = [start for start in starts if start]
    longer += [start + unit for start in starts for unit in [*pieces.units][:6]]
    texts = [(start, unit) for start in starts for unit in pieces.units]
    texts += [("", unit) for unit in longer]
    ends = ("\0", "\0" + pieces.whole) if whole else ("", "\0")
    return [(*text, end) for text in dict.fromkeys(texts) for end in ends]


def built(start, unit, end, size, *, is_text):
    text = start + unit * (size // len(unit)) + end
    return text if is_text else text.encode("latin-1", "replace")


# --- measurement

APPLIED = {
    "match": lambda pattern, text: pattern.match(text),
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "search": lambda pattern, text: pattern.search(text),
    "all": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
}


def non_linear(pattern, methods):
    """Hostile texts that take this expression more than linear time."""
    applied = {method if method in APPLIED else "all" for method in methods}
    is_text = isinstance(pattern.pattern, str)
    for method in sorted(applied):
        call = partial(APPLIED[method], pattern)
        for start, unit, end in hostile_texts(pattern, whole=method in ("match", "fullmatch")):
            text_of = partial(built, start, unit, end, is_text=is_text)
            for size in LADDER:
                spent = least_seconds(call, text_of(size), enough=LADDER_SECONDS)
                if spent > LADDER_SECONDS:
                    yield method, start, unit, end, f"{spent:.3f} s for {size} characters"
                    return
            growth = super_linear(call, text_of)
            if growth is not None:
                yield method, start, unit, end, growth
                return


CALL = re.compile(rf"\bre\.({'|'.join(FUNCTIONS)})\(")
WITH_EXPRESSIONS = [path for path in MODULES if CALL.search(path.read_text("utf-8"))]


@pytest.mark.slow  # it measures
@pytest.mark.parametrize("path", WITH_EXPRESSIONS, ids=lambda path: str(path.relative_to(SRC)))
def test_every_expression_takes_linear_time(path):
    slow = {
        place: growth
        for place, pattern, methods in expressions(path)
        if not is_linear_by_form(pattern) and (growth := list(non_linear(pattern, methods)))
    }
    assert slow == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"),
    [("<[^>]*>", "sub"), ("(?:a|b|ab)*c", "match"), ("<body[^>]*>", "search")],
)
def test_the_hostile_texts_find_what_is_not_linear(pattern, method, monkeypatch):
    monkeypatch.setattr(cpu_growth, "ROUNDS", 1)  # no noise hides what is quadratic
    assert not is_linear_by_form(re.compile(pattern))
    assert len(list(non_linear(re.compile(pattern), {method}))) == 1


@pytest.mark.parametrize(
    ("pattern", "number"),
    [
        ("ab", 1),
        ("a|bc|d", 3),
        ("(?:ab|c)d?", 4),
        ("a{2,5}(?=bc|d)", 8),
        ("(?:ab|c){1,3}", 2 + 4 + 8),
        ("(?:a?){3}", 8),
    ],
)
def test_the_ways_through_an_expression_are_counted(pattern, number):
    assert ways(sre_parser.parse(pattern)) == number
    assert is_linear_by_form(re.compile(pattern))


@pytest.mark.parametrize(
    "pattern", ["a*", "(?:ab|c){1,30}", "(?:a?){30}", ".{0,40}.{0,40}", "a{2000}"]
)
def test_many_or_long_ways_are_measured(pattern):
    assert not is_linear_by_form(re.compile(pattern))
