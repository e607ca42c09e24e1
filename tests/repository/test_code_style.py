"""Sizes, names and docstrings of the code, as CONTRIBUTING.md demands them."""

import ast
import gc
import re
from collections import Counter
from functools import cache

import pytest
from paths import REPOSITORY

MODULES = sorted(
    str(path.relative_to(REPOSITORY))
    for path in (REPOSITORY / "src").rglob("*.py")
    if "migrations/versions" not in str(path)
)
PACKAGES = sorted({name.rpartition("/")[0] for name in MODULES})

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_MODULES = 22  # in one folder, its `__init__` included

# The most lines of each package, migrations included. A budget falls with what is removed; it is
# raised only in a commit that says what the lines are for.
BUDGETS = {
    "agent_tools": 2_500,
    "gateway": 42_900,
    "graph": 20_790,
    "policy": 5_210,
    "providers": 48_500,
    "rest_compat": 6_300,
}

# Each exception says why.
LONG_FILES = {"src/policy/vocabulary.py": "every word of the API in one table"}
LONG_FUNCTIONS = {
    "src/graph/collab/file_queries.py:collab_files": "one parameter per documented argument",
    "src/graph/collab/item_queries.py:collab_list_items": "one parameter per documented argument",
}
# Their docstrings are descriptions in the served documents, which keep their wording.
SERVED_DESCRIPTIONS = {
    "src/gateway/explain/views.py",
    "src/gateway/operations/settings_views.py",
    "src/gateway/operations/views.py",
    "src/graph/links.py",
}

# Names that say nothing of what they hold.
VAGUE = {"one", "found", "given", "said", "told", "here", "that", "those", "asks", "kept"}
# A name that is stored is followed by an operator, a bracket, a comma, a colon or `in`.
_MAY_STORE = re.compile(rf"\b(?:{'|'.join(sorted(VAGUE))})\b\s*(?:[^\w\s.]|in\b)")
_RIDDLE = re.compile(r"(What|Which|Who|Whose|Whom|How|Where) ")


_PRIVATE = re.compile(r"_[^_]")


@cache
def trees():
    """Parse all modules once, without the garbage collector: a million objects, which all stay."""
    gc.disable()
    try:
        return {name: ast.parse((REPOSITORY / name).read_text("utf-8")) for name in MODULES}
    finally:
        gc.freeze()
        gc.enable()


def statements(name):
    """Return the module of a file and all statements in it, functions and classes among them."""
    nodes = [trees()[name]]
    for node in nodes:
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, field, None)
            nodes += below if isinstance(below, list) else []
    return nodes


def defined_at_the_top(module):
    """Every constant, function and class that a module defines; decorators may register one."""
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if not node.decorator_list:
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))


def lines_of(name):
    return len((REPOSITORY / name).read_text("utf-8").splitlines())


def functions():
    """Every function of the code: "path:name" and how many lines it has."""
    for name in MODULES:
        for node in statements(name):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name}:{node.name}", node.end_lineno - node.lineno + 1


def test_files_are_short():
    """The exceptions are those named above, and each of them is still needed."""
    long = {name for name in MODULES if lines_of(name) > MAX_FILE_LINES}

    assert long == set(LONG_FILES)


def test_functions_are_short():
    """The exceptions are those named above, and each of them is still needed."""
    long = {key for key, lines in functions() if lines > MAX_FUNCTION_LINES}

    assert long == set(LONG_FUNCTIONS)


def test_folders_are_small():
    counts = {package: len(list((REPOSITORY / package).glob("*.py"))) for package in PACKAGES}

    assert {package: count for package, count in counts.items() if count > MAX_MODULES} == {}


@pytest.mark.parametrize("package", BUDGETS)
def test_packages_keep_their_budgets(package):
    modules = (REPOSITORY / "src" / package).rglob("*.py")

    assert sum(lines_of(path) for path in modules) <= BUDGETS[package]


def test_a_package_names_its_modules():
    """The docstring of an `__init__` is a legend: one line per module or folder."""
    missing = {}
    for package in PACKAGES:
        folder = REPOSITORY / package
        legend = ast.get_docstring(trees()[f"{package}/__init__.py"]) or ""
        parts = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
        parts |= {path.parent.name for path in folder.glob("*/__init__.py")}
        absent = {part for part in parts if not re.search(rf"\b{part}\b", legend)}
        missing |= {package: absent} if absent else {}

    assert missing == {}


def test_variables_say_what_they_hold():
    vague = {}
    for name in MODULES:
        if not _MAY_STORE.search((REPOSITORY / name).read_text("utf-8")):
            continue
        stored = {
            node.id
            for node in ast.walk(trees()[name])
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        vague |= {name: stored & VAGUE} if stored & VAGUE else {}

    assert vague == {}


def test_private_names_are_used_in_their_module():
    unused = {}
    for name in MODULES:
        words = Counter(re.findall(r"\w+", (REPOSITORY / name).read_text("utf-8")))
        private = (word for word in defined_at_the_top(trees()[name]) if _PRIVATE.match(word))
        once = {word for word in private if words[word] == 1}
        unused |= {name: once} if once else {}

    assert unused == {}


def test_docstrings_open_with_a_noun_or_a_verb():
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    riddles = {}
    for name in set(MODULES) - SERVED_DESCRIPTIONS:
        for node in statements(name):
            if isinstance(node, documented):
                line = (ast.get_docstring(node) or "").strip().partition("\n")[0]
                riddles |= {name: line} if _RIDDLE.match(line) else {}

    assert riddles == {}
