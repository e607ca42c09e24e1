"""The documentation site holds every page, builds strictly, and needs nothing from elsewhere."""

import re
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
import site_builder
from paths import REPOSITORY

DOCS = REPOSITORY / "docs"
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


def pages_of(nav):
    """Yield the pages of a navigation, depth first."""
    for entry in nav:
        for value in entry.values() if isinstance(entry, dict) else (entry,):
            if isinstance(value, list):
                yield from pages_of(value)
            else:
                yield value


class References(HTMLParser):
    """The links of a page, the files that it loads, and its targets of links."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.anchors |= {values.get("id"), values.get("name")}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if (loaded := values.get(LOADING.get(tag, ""))) and values.get("rel") != "canonical":
            self.loaded.append(loaded)


def test_every_page_is_in_the_navigation():
    nav = tomllib.loads((DOCS / "zensical.toml").read_text())["project"]["nav"]
    listed = list(pages_of(nav))

    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    return site_builder.build(tmp_path_factory.mktemp("site"))


@pytest.mark.slow
def test_the_site_builds_strictly_and_all_links_resolve(html):
    pages = {page: References(page.read_text("utf-8")) for page in sorted(html.rglob("*.html"))}
    problems = []
    for page, references in pages.items():
        if page.name == "404.html":
            continue  # its links start at the root of the site's address
        for link in (*references.links, *references.loaded):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if target.is_dir():
                target /= "index.html"
            if not target.exists() or (
                target in pages and unquote(parts.fragment) not in pages[target].anchors
            ):
                problems.append((str(page.relative_to(html)), link))

    expected = {html / page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert {page for page in expected - pages.keys() if page.stem != "README"} == set()
    assert problems == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_other_origins(html):
    loaded = {
        reference
        for page in html.rglob("*.html")
        for reference in References(page.read_text("utf-8")).loaded
        if urlsplit(reference).netloc
    }
    styles = {
        url
        for sheet in html.rglob("*.css")
        for url in re.findall(r"url\(['\"]?(https?://[^)'\"]+)", sheet.read_text("utf-8"))
    }

    assert (loaded, styles) == (set(), set())
    assert (html / "search.json").stat().st_size > 100_000
