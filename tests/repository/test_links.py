"""Links of documents and source files lead to a file, and to a heading of it."""

import re
import subprocess
from functools import cache

from paths import REPOSITORY

# `docs/spec/email.md#replies` in a comment, a docstring, a test or a document.
_CITED = re.compile(r"(?<![\w/.-])docs/[\w./-]+\.md(?:#[\w-]+)?")
_MARKDOWN = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
# Citations of documents that are not in the repository.
_LOST = re.compile(
    r"(?:\b[Dd]ecisions|\breliability|\b[Cc]ontract,?|\b[Rr]eference,) \d"
    r"|wire report|performance report"
)


def _files(*suffixes):
    listed = ("git", "ls-files", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return [
        name
        for name in names.stdout.splitlines()
        if name.endswith(suffixes) and "static/" not in name and (REPOSITORY / name).is_file()
    ]


SOURCES = _files(".py", ".graphql", ".toml")
DOCUMENTS = _files(".md")


@cache
def headings(path):
    """The anchors of a Markdown file, as they are made on code hosts: lower case, hyphens."""
    text = re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    anchors = set()
    for heading in _HEADING.findall(text):
        words = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number, anchor = 0, words
        while anchor in anchors:
            number += 1
            anchor = f"{words}-{number}"
        anchors.add(anchor)
    return frozenset(anchors)


def broken(link, folder):
    """Return what is wrong with a relative link, or None."""
    name, _, anchor = link.partition("#")
    target = (folder / name).resolve() if name else None
    if target is not None and not target.exists():
        return f"{link}: no such file"
    if anchor and target is not None and target.suffix == ".md" and anchor not in headings(target):
        return f"{link}: no such heading"
    return None


def text_of(name):
    return (REPOSITORY / name).read_text("utf-8")


def test_cited_documents_exist():
    problems = {
        name: problem
        for name in (*SOURCES, *DOCUMENTS)
        for link in sorted(set(_CITED.findall(text_of(name))))
        if (problem := broken(link, REPOSITORY))
    }

    assert problems == {}


def test_links_between_documents_resolve():
    problems = {}
    for name in DOCUMENTS:
        path = REPOSITORY / name
        for link in _MARKDOWN.findall(_CODE.sub("", text_of(name))):
            relative = path.name + link if link.startswith("#") else link
            elsewhere = re.match(r"[a-z]+:", link)
            if not elsewhere and (problem := broken(relative, path.parent)):
                problems[name] = problem

    assert problems == {}


def test_no_document_outside_the_repository_is_cited():
    holds_the_pattern = "tests/repository/test_links.py"
    problems = {
        name: lost
        for name in {*SOURCES, *DOCUMENTS} - {holds_the_pattern}
        if (lost := _LOST.findall(text_of(name)))
    }

    assert problems == {}
