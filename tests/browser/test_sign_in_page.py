"""The page of sign-in by keyboard alone, at two widths, light and dark, and without scripts."""

import base64
import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
import pytest
from axe_findings import findings

pytestmark = pytest.mark.browser

REDIRECT = "https://app.example/callback"
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDTHS = pytest.mark.parametrize("width", [1440, 390])
VERIFIER = "v" * 43
SCREENSHOTS = os.environ.get("SCREENSHOTS")  # a folder to look at them in


@pytest.fixture(scope="module")
def client_id(demo):
    headers = {"Authorization": f"Bearer {demo['adminToken']}"}
    redirects = [REDIRECT, "http://127.0.0.1/callback"]
    new = {"name": "Mail helper <script>", "redirectUris": redirects}
    made = httpx.post(f"{demo['baseUrl']}/api/oauth-clients", json=new, headers=headers)
    return made.json()["clientId"]


@pytest.fixture(scope="module")
def app():
    """The address of an app on this computer, which people are sent back to."""

    class Quiet(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/callback"
        server.shutdown()
        thread.join()


def address_of(demo, client_id, redirect_uri):
    """Return the address that an app opens."""
    challenge = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=")
    asked = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "state": "s",
        "scope": "drafts",
        "code_challenge": challenge.decode(),
        "code_challenge_method": "S256",
        "resource": f"{demo['baseUrl']}/mcp",
    }
    return f"{demo['baseUrl']}/connect?{urlencode(asked)}"


@pytest.fixture
def address(demo, client_id):
    return address_of(demo, client_id, REDIRECT)


@pytest.fixture
def page(look, demo, client_id, app):
    """The page in a browser without scripts."""
    context = look.page.context.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address_of(demo, client_id, app))
    yield page
    context.close()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def tab_to(page, selector):
    """Press Tab until the element has the focus."""
    for _ in range(60):
        if page.locator(f"{selector}:focus").count():
            return
        press(page, "Tab")
    pytest.fail(f"the keyboard does not reach {selector}")


def test_a_person_grants_by_keyboard_alone(page, demo, app):
    assert page.locator(".host").inner_text() == "a program on this computer (127.0.0.1)"
    assert "“Mail helper <script>”" in page.locator(".name").inner_text()
    page.keyboard.type(demo["tokens"]["full"])  # the field has the focus
    press(page, "Enter")
    page.wait_for_selector("select")
    assert page.locator("input[type=radio]:checked").get_attribute("value") == "drafts"
    tab_to(page, "input[name=preset]")
    press(page, "ArrowDown")
    chosen = page.locator("input[type=radio]:checked").get_attribute("value")
    assert chosen == "reader"
    tab_to(page, "summary")
    press(page, "Enter")
    assert page.locator("details[open] li").count() > 0
    tab_to(page, "input[type=checkbox]")
    press(page, "Space")
    tab_to(page, "select")
    press(page, "Home")
    tab_to(page, "button[value=grant]")
    press(page, "Enter")
    page.wait_for_url(f"{app}?*")

    answer = dict(parse_qsl(urlsplit(page.url).query))
    assert answer == {"code": answer["code"], "state": "s", "iss": demo["baseUrl"]}
    assert page.context.cookies() == []


def test_a_person_declines_by_keyboard_alone(page, demo, app):
    tab_to(page, "button[value=decline]")
    press(page, "Enter")
    page.wait_for_url(f"{app}?*")

    answer = dict(parse_qsl(urlsplit(page.url).query))
    assert answer == {"error": "access_denied", "state": "s", "iss": demo["baseUrl"]}


@SCHEMES
@WIDTHS
def test_axe_finds_nothing_serious_and_nothing_is_cut_off(look, address, demo, scheme, width):
    look.page.emulate_media(color_scheme=scheme)
    look.page.set_viewport_size({"width": width, "height": 900})
    look.page.goto(address)
    assert look.page.locator(".host").inner_text() == "app.example"
    check(look, f"ask-{scheme}-{width}")
    look.page.fill("#token", "wrong")
    look.page.click("button[value=prove]")
    assert look.page.locator("[role=alert]").inner_text() == "This access token is unknown."
    check(look, f"wrong-{scheme}-{width}")
    look.page.fill("#token", demo["tokens"]["full"])
    look.page.click("button[value=prove]")
    look.page.wait_for_selector("select")
    look.page.locator("summary").first.click()
    check(look, f"choose-{scheme}-{width}")
    assert look.foreign == []


def check(look, name):
    page = look.page
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)
    assert findings(page) == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"]


def test_no_page_can_frame_it(look, address):
    look.page.route(
        "https://evil.example/",
        lambda route: route.fulfill(
            content_type="text/html", body=f'<iframe src="{address}"></iframe>'
        ),
    )
    look.page.goto("https://evil.example/")
    look.page.wait_for_timeout(500)
    frames = [frame.url for frame in look.page.frames[1:]]
    assert all("/connect" not in url or url.startswith("chrome-error") for url in frames), frames
