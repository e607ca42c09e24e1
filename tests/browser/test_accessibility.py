"""axe finds nothing serious in the explorer, the reference and the documentation site."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import site_builder
from axe_findings import findings

pytestmark = pytest.mark.browser

SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDTHS = pytest.mark.parametrize("width", [1440, 390])


# GraphiQL puts the buttons of a tab into the tab; the markup is not ours.
NOT_OURS = {"rules": {"nested-interactive": {"enabled": False}}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the documentation site."""
    html = site_builder.build(tmp_path_factory.mktemp("site"))

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=html)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def page(look, width, scheme):
    look.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    look.page.set_viewport_size({"width": width, "height": 900})
    return look.page


@SCHEMES
@WIDTHS
def test_the_start_page_of_the_explorer(look, page):
    page.goto(f"{look.origin}/explorer/")
    page.wait_for_selector("#gw-token")

    assert findings(page) == []


@SCHEMES
@WIDTHS
def test_the_explorer(look, page, demo):
    page.goto(f"{look.origin}/explorer/")
    page.fill("#gw-token", demo["tokens"]["masked"])
    page.click("text=Connect")
    page.wait_for_selector(".graphiql-query-editor .view-line >> text=#")

    assert findings(page, NOT_OURS) == []


@SCHEMES
@WIDTHS
def test_the_reference(look, page):
    page.goto(f"{look.origin}/docs/")
    page.wait_for_selector(".opblock-summary")
    page.locator(".opblock-summary-control").first.click()
    page.wait_for_selector(".opblock-body")

    assert findings(page) == []


@SCHEMES
@WIDTHS
@pytest.mark.parametrize("path", ["index", "rest/calling", "reference/settings"])
def test_the_documentation_site(site, page, path):
    page.goto(f"{site}/{path}.html")
    page.wait_for_selector("article h1")

    assert findings(page) == []
