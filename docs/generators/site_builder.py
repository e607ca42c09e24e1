"""
Builds the documentation site from `docs/` with Zensical: `./run docs`, or `./run docs --serve`.

The pages are copied to `site/source` first: a link that leaves `docs/` (`../../schema.graphql`)
leads to a copy of its file there, because the site must hold everything that it links to. The
result is `site/html`; it needs no server and loads nothing from other origins. The search finds the
pages for users: it leaves out those of the section *Develop*, and the copies.
"""

import argparse
import http.server
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CONFIG = "zensical.toml"
_NOT_PAGES = shutil.ignore_patterns("generators", "*.py", "__pycache__", CONFIG)
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n"
_LINE_ANCHOR = re.compile(r'(<a id="__codelineno-[^>]*)')
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(?=[)#])")


def build(site: Path) -> Path:
    """
    Build the site below *site*, strictly; return the folder of its HTML.

    Raises:
        subprocess.CalledProcessError: Zensical found a problem; it has printed it.
    """
    shutil.rmtree(site, ignore_errors=True)
    source = site / "source"
    shutil.copytree(DOCS, source, ignore=_NOT_PAGES)
    for page in sorted(source.rglob("*.md")):
        _bring_linked_files(page, source)
    nav = tomllib.loads((DOCS / CONFIG).read_text("utf-8"))["project"]["nav"]
    inside = next(entry["Develop"] for entry in nav if "Develop" in entry)
    for page in [source / name for name in pages_of(inside)] + [*source.glob("repository/**/*.md")]:
        page.write_text(_NOT_SEARCHED + page.read_text("utf-8"), "utf-8")
    shutil.copy(DOCS / CONFIG, site / CONFIG)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    subprocess.run(command, cwd=site, check=True, env={**os.environ, "NO_COLOR": "1"})
    for html in (site / "html").rglob("*.html"):
        # The anchors of lines of code have no text, and need no place in the order of the focus.
        text = html.read_text("utf-8")
        html.write_text(_LINE_ANCHOR.sub(r'\1 tabindex="-1" aria-hidden="true"', text), "utf-8")
    return site / "html"


def pages_of(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of a part of the navigation, depth first."""
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            if isinstance(value, list):
                yield from pages_of(value)
            else:
                yield value


def _bring_linked_files(page: Path, source: Path) -> None:
    """Copy the files outside `docs/` that *page* links to, and point its links at the copies."""
    folder = (DOCS / page.relative_to(source)).parent

    def replace(match: re.Match[str]) -> str:
        target = (folder / match[1]).resolve()
        if target.is_relative_to(DOCS) and not _is_left_out(target):
            return match[1]
        if not target.exists() or not target.is_relative_to(ROOT):
            return match[1]
        copy = source / "repository" / target.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            # A page cannot show a folder: its legend stands for it.
            return os.path.relpath(source / "architecture.md", page.parent)
        new = not copy.exists()
        shutil.copy(target, copy)
        if new and copy.suffix == ".md":
            _point_back(copy, target)
        return os.path.relpath(copy, page.parent)

    page.write_text(_LINK.sub(replace, page.read_text("utf-8")), "utf-8")


def _is_left_out(target: Path) -> bool:
    return target.suffix == ".py" or target.is_dir() or target.name == CONFIG


def _point_back(copy: Path, original: Path) -> None:
    """Turn the links of a copied page into links from its new place."""
    source = next(parent for parent in copy.parents if parent.name == "source")

    def replace(match: re.Match[str]) -> str:
        target = (original.parent / match[1]).resolve()
        if not target.is_relative_to(DOCS) or _is_left_out(target):
            return match[1]
        return os.path.relpath(source / target.relative_to(DOCS), copy.parent)

    copy.write_text(_LINK.sub(replace, copy.read_text("utf-8")), "utf-8")


def main() -> None:
    """Build the site, and serve it on this machine with `--serve`."""
    parser = argparse.ArgumentParser(prog="./run docs", description="Build the documentation site.")
    parser.add_argument("--serve", action="store_true", help="serve the site on this machine")
    parser.add_argument("--port", type=int, default=8080, help="the port to serve it on")
    arguments = parser.parse_args()
    try:
        html = build(ROOT / "site")
    except subprocess.CalledProcessError as failure:
        sys.exit(failure.returncode)
    if arguments.serve:
        handler = partial(http.server.SimpleHTTPRequestHandler, directory=html)
        print(f"http://127.0.0.1:{arguments.port}/  (stop with Ctrl-C)", file=sys.stderr)
        with suppress(KeyboardInterrupt):
            http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), handler).serve_forever()
    else:
        print(html / "index.html")


if __name__ == "__main__":
    main()
