"""A demo gateway on a free loopback port, and headless Chromium looking at it."""

import json

import demo_process
import pytest
from playwright.sync_api import sync_playwright
from programs import program

QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo's manifest; the server runs as long as the session."""
    # All pages have one address, and a fast machine opens them all within a minute.
    buckets = ("email", "calendar", "tasks", "collab", "management", "graphql")
    windows = json.dumps({bucket: [[6000, 60], [30_000, 3600]] for bucket in buckets})
    folder = tmp_path_factory.mktemp("demo")
    with demo_process.running(folder, AGW_RATE_LIMIT_WINDOWS=windows) as manifest:
        yield manifest


@pytest.fixture(scope="session")
def chromium():
    path = program("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield browser
        browser.close()


class Look:
    """A page, every address it asked for, and everything it complained about."""

    def __init__(self, page, origin: str) -> None:
        self.page = page
        self.origin = origin
        self.requested: list[str] = []
        self.complaints: list[str] = []
        page.context.on("request", lambda request: self.requested.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self._heard)

    def _heard(self, message) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    @property
    def foreign(self) -> list[str]:
        """Addresses outside the gateway's own origin."""
        own = (self.origin, "data:", "blob:")
        return [address for address in self.requested if not address.startswith(own)]


@pytest.fixture
def look(chromium, demo):
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    yield Look(context.new_page(), demo["baseUrl"])
    context.close()
