"""The documentation site holds every page, builds strictly, and needs nothing from elsewhere."""

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import site_builder
from paths import REPOSITORY

DOCS = REPOSITORY / "docs"
LOADING = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


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
    listed = list(site_builder.pages_of(nav))

    assert sorted(listed) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_readme_is_short():
    assert len((REPOSITORY / "README.md").read_text("utf-8").split()) <= 600


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


@pytest.mark.slow
def test_search_finds_pages_for_users_only(html):
    sections = json.loads((html / "search.json").read_text("utf-8"))["items"]
    searched = {urlsplit(section["location"]).path for section in sections}
    nav = tomllib.loads((DOCS / "zensical.toml").read_text())["project"]["nav"]
    for_users = site_builder.pages_of([entry for entry in nav if "Develop" not in entry])

    pages_with = {
        word: {urlsplit(item["location"]).path for item in sections if word in item["text"].lower()}
        for word in ("attachment", "draft", "mask", "rate limit", "install")
    }

    assert searched == {str(Path(page).with_suffix(".html")) for page in for_users}
    assert {word for word, pages in pages_with.items() if len(pages) < 3} == set()
