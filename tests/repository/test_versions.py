"""One version everywhere: the package, the changelog, the files that deploy it and the pages."""

import re

import yaml
from paths import REPOSITORY

from gateway.version import API_VERSION, VERSION

CHANGELOG = (REPOSITORY / "CHANGELOG.md").read_text("utf-8")
HEADINGS = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
MIGRATIONS = REPOSITORY / "src/gateway/store/migrations/versions"


def test_the_topmost_heading_is_the_version_of_the_checkout():
    """A version is released by removing `.dev0` and writing the date; then the next one begins."""
    if VERSION.endswith(".dev0"):
        assert HEADINGS[0] == f"{VERSION.removesuffix('.dev0')} (unreleased)"
    else:
        assert re.fullmatch(rf"{re.escape(VERSION)} \(\d{{4}}-\d\d-\d\d\)", HEADINGS[0])


def test_released_versions_have_dates_and_are_in_order():
    released = HEADINGS[1:]
    dated = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", each) for each in released]
    keys = [(tuple(map(int, each.groups()[:3])), each[4]) for each in dated]

    assert keys == sorted(keys, reverse=True)
    assert len(set(released)) == len(released) > 0


def test_each_heading_of_a_version_comes_once():
    """Lines of several branches are merged by union, which may repeat a heading."""
    for section in CHANGELOG.split("\n## ")[1:]:
        parts = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert len(set(parts)) == len(parts), section.partition("\n")[0]


MOST_WORDS = 1600  # of a released version: what callers and operators must know


def test_a_released_version_is_short_enough_to_be_read():
    """
    Union merges bring back lines of a dated version that another branch still has.

    Then keep the text of main below the dated heading, and write new lines below the topmost one.
    """
    for section in CHANGELOG.split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        if "unreleased" not in heading:
            assert len(text.split()) <= MOST_WORDS, heading


def test_the_files_that_deploy_name_the_version():
    kustomization = yaml.safe_load(
        (REPOSITORY / "deploy/kubernetes/kustomization.yaml").read_text("utf-8")
    )
    compose = yaml.safe_load((REPOSITORY / "compose.yaml").read_text("utf-8"))
    assert kustomization["images"] == [{"name": "access-gateway", "newTag": VERSION}]
    assert compose["services"]["gateway"]["image"] == f"access-gateway:{VERSION}"

    pages = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    tags = {
        tag
        for page in pages
        for tag in re.findall(r"access-gateway:(\d[\w.]*)", page.read_text("utf-8"))
    }
    assert tags == {VERSION}


def test_the_page_on_versions_shows_those_of_today():
    page = (REPOSITORY / "docs/operate/versions.md").read_text("utf-8")
    shown = dict(re.findall(r"^\| (package|API|database) \| `([^`]+)` \|", page, re.MULTILINE))
    newest = max(path.name[:4] for path in MIGRATIONS.glob("0*.py"))

    released = HEADINGS[VERSION.endswith(".dev0")].partition(" ")[0]
    assert shown == {"package": released, "API": API_VERSION, "database": newest}


def test_the_page_on_upgrades_leads_to_the_version_of_the_checkout():
    page = (REPOSITORY / "docs/operate/upgrade.md").read_text("utf-8")
    steps = re.findall(r"^## From (\d+\.\d+) to (\d+\.\d+)$", page, re.MULTILINE)
    minors = [re.match(r"\d+\.\d+", heading)[0] for heading in HEADINGS]

    assert [to for _, to in steps] == minors
    assert [since for since, _ in steps[:-1]] == minors[1:]
