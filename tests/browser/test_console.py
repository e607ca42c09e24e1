"""The console in a browser: clicks of each job, keyboard alone, two widths, light and dark."""

import gzip
import os
import re
from pathlib import Path

import httpx
import pytest
from axe_findings import findings

pytestmark = pytest.mark.browser

SCREENSHOTS = os.environ.get("SCREENSHOTS")  # a folder to look at them in
RIGHT_TO_LEFT = "\u0646\u0648\u0631\u0627 \u202elindqvist"
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'
MOST_CLICKS = 5


class Visitor:
    """A person at a page; counts clicks on links, buttons and choices from the first page on."""

    def __init__(self, page, base):
        self.page = page
        self.base = base
        self.clicks = 0

    def start(self):
        """Open the first page."""
        self.page.goto(f"{self.base}/console/")
        self.clicks = 0

    def click(self, text, *, role="link"):
        self.page.get_by_role(role, name=text).first.click()
        self.clicks += 1

    def press_first(self, selector):
        self.page.locator(selector).first.click()
        self.clicks += 1


@pytest.fixture(scope="module")
def admin(demo):
    with httpx.Client(
        base_url=demo["baseUrl"], headers={"Authorization": f"Bearer {demo['adminToken']}"}
    ) as client:
        yield client


@pytest.fixture
def visitor(look, demo):
    look.page.goto(f"{demo['baseUrl']}/console/")
    look.page.fill("#token", demo["adminToken"])
    look.page.click("main button")
    look.page.wait_for_selector("h1")
    yield Visitor(look.page, demo["baseUrl"])
    assert look.foreign == []
    # The browser also reports the statuses of refusals.
    assert [each for each in look.complaints if "server responded with" not in each] == []


def heading(page):
    return page.locator("h1").inner_text()


# -- the jobs, by a person who read nothing


def test_job_1_is_the_first_page(visitor):
    visitor.start()

    assert heading(visitor.page) == "Is everything alive?"
    assert visitor.page.get_by_text("Every connected account can be used.").is_visible()


def test_job_2_connects_an_account(visitor, admin):
    visitor.start()
    visitor.click("Connect an account")
    visitor.click("Nora Lindqvist")
    visitor.press_first("a[href*='tasks/BOARDS/api-token']")
    visitor.page.fill("#secret", "a-wrong-token")
    visitor.click("Connect and test", role="button")

    assert "The provider refused the API token" in visitor.page.locator(".error").inner_text()
    assert visitor.clicks <= MOST_CLICKS
    made = admin.get("/api/connections", params={"status": "needs_reauth"}).json()["connections"]
    for connection in made:
        admin.delete(f"/api/connections/{connection['id']}")


def test_job_3_makes_a_link_for_the_owner(visitor):
    visitor.start()
    visitor.click("Reconnect an account")
    visitor.press_first("tbody a")
    visitor.click("Make a one-time link", role="button")

    assert "/oauth/link/" in visitor.page.locator(".secret").inner_text()
    assert visitor.clicks <= MOST_CLICKS


def test_job_4_makes_a_token_that_works(visitor, demo):
    visitor.start()
    visitor.click("Make a token")
    visitor.click("Nora Lindqvist")
    visitor.page.fill("#name", "Weekly report")
    visitor.click("drafts:", role="radio")
    visitor.click("Make the token", role="button")

    token = visitor.page.locator(".secret").inner_text()
    assert visitor.clicks <= MOST_CLICKS
    headers = {"Authorization": f"Bearer {token}"}
    answer = httpx.get(f"{demo['baseUrl']}/api/access/email/messages?limit=1", headers=headers)
    assert answer.status_code == 200


def test_job_5_changes_a_token_after_its_difference_was_shown(visitor, admin):
    made = make_token(admin, "To be changed")
    visitor.start()
    visitor.click("Change a token")
    visitor.click("To be changed")
    visitor.click("Change it")
    visitor.page.fill("input[name=name]", "Changed")
    visitor.click("Show the difference", role="button")
    assert visitor.page.locator(".host").inner_text() == "neither"
    visitor.click("Save it", role="button")

    assert heading(visitor.page) == "Changed"
    assert visitor.clicks <= MOST_CLICKS
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_6_revokes_a_token_and_all_of_a_person(visitor, admin):
    person = make_person(admin, "Ada", "ada@example.org")
    make_token(admin, "To be revoked", person)
    make_token(admin, "This one too", person)
    visitor.start()
    visitor.click("Revoke or expire tokens")
    visitor.click("To be revoked")
    visitor.click("End this token", role="button")
    assert visitor.page.locator("dd.bad").inner_text() == "revoked"
    assert visitor.clicks <= MOST_CLICKS
    visitor.start()
    visitor.click("Revoke or expire tokens")
    visitor.page.fill("input[name=q]", "ada@")
    visitor.page.keyboard.press("Enter")
    visitor.click("Ada")
    visitor.click("End all tokens of this person")
    visitor.click("End all of them", role="button")
    assert visitor.clicks + 1 <= MOST_CLICKS  # the search
    statuses = visitor.page.locator("tbody td.bad").all_inner_texts()
    assert statuses == ["revoked", "revoked"]


def refused_call(admin, demo):
    """Call what a new token may not; return the token."""
    made = make_token(admin, "Refused")
    headers = {"Authorization": f"Bearer {made['token']}"}
    answer = httpx.get(f"{demo['baseUrl']}/api/access/email/messages", headers=headers)
    assert answer.is_client_error
    return made


def test_job_7_explains_a_refused_call_and_allows_it(visitor, admin, demo):
    made = refused_call(admin, demo)
    visitor.start()
    visitor.click("Why was this refused?")
    visitor.press_first("tbody td a.bad")
    visitor.click("Show what would allow it", role="button")
    visitor.click("Show the difference", role="button")
    assert visitor.page.locator(".host").inner_text() == "wider"
    visitor.click("Apply it", role="button")

    assert heading(visitor.page) == "Refused"
    assert visitor.clicks <= MOST_CLICKS
    headers = {"Authorization": f"Bearer {made['token']}"}
    answer = httpx.get(f"{demo['baseUrl']}/api/access/email/messages?limit=1", headers=headers)
    assert answer.status_code == 200


def test_job_8_follows_calls_until_it_is_stopped(visitor, admin, demo):
    refused_call(admin, demo)
    visitor.start()
    visitor.click("Follow calls")
    visitor.page.select_option("select[name=verdict]", "refused")
    visitor.click("Show", role="button")
    visitor.click("Follow for ten minutes")
    rows = visitor.page.locator("tbody tr")
    before = rows.count()
    refused_call(admin, demo)
    rows.nth(before).wait_for(timeout=15_000)  # without a click
    visitor.click("Stop")

    assert set(visitor.page.locator("tbody td:nth-child(4)").all_inner_texts()) == {"refused"}
    assert visitor.clicks <= MOST_CLICKS


def test_job_9_releases_what_is_held(visitor, admin, demo):
    person = admin.get("/api/operators").json()["operators"][0]["id"]
    made = make_token(admin, "Asks first", person)
    settings = {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["write_drafts"],
        "writes": "approve",
    }
    changed = admin.patch(f"/api/access-tokens/{made['id']}", json={"settings": settings})
    assert changed.status_code == 200, changed.text
    headers = {"Authorization": f"Bearer {made['token']}"}
    url, draft = f"{demo['baseUrl']}/api/access/email/drafts", {"subject": "Oars", "body": "b"}
    held = httpx.post(url, headers=headers, json=draft)
    assert held.status_code == 202, held.text
    visitor.start()
    visitor.click("1 waits for a person")
    assert "Subject: Oars" in visitor.page.locator("main").inner_text()
    visitor.click("", role="checkbox")
    visitor.click("Release the chosen", role="button")

    assert "It runs within a second or two" in visitor.page.get_by_role("status").inner_text()
    assert visitor.clicks <= MOST_CLICKS
    state = f"{demo['baseUrl']}/api/access/writes/{held.json()['id']}"
    httpx.get(state, headers={**headers, "Prefer": "wait=20"}, timeout=30)
    assert httpx.get(state, headers=headers).json()["state"] == "done"
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_10_adds_a_rule_and_tries_an_example(visitor, admin):
    made = make_token(admin, "Of rules")
    visitor.start()
    visitor.click("Edit rules")
    visitor.click("Of rules")
    visitor.page.get_by_label("Address, @domain or *").fill("@example.org")
    visitor.click("Add the recipient rule", role="button")
    visitor.page.get_by_label("Address of a recipient").fill("ada@else.example")
    visitor.click("Try it", role="button")

    result = visitor.page.get_by_role("status").inner_text()
    assert "refused: a message to ada@else.example" in result
    assert visitor.clicks <= MOST_CLICKS
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_11_looks_through_the_eyes_of_a_token(visitor, admin):
    made = make_token(admin, "To look with")
    visitor.start()
    visitor.click("Change a token")
    visitor.click("To look with")
    visitor.click("Look through its eyes")
    visitor.click("Look with a child", role="button")
    with visitor.page.context.expect_page() as opened:
        visitor.click("Open the explorer with it")
    explorer = opened.value
    explorer.get_by_text("Forget").wait_for()  # it has taken the token

    assert explorer.url.endswith("/explorer/")
    assert visitor.clicks <= MOST_CLICKS
    explorer.close()
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_12_exports_who_changed_what(visitor):
    visitor.start()
    visitor.click("Who changed what?")
    with visitor.page.expect_download() as download:
        visitor.click("CSV")

    assert download.value.suggested_filename == "changes.csv"
    assert "createToken" in Path(download.value.path()).read_text("utf-8")
    assert visitor.clicks <= MOST_CLICKS


def make_person(admin, name, email):
    person = admin.post("/api/operators", json={"displayName": name, "email": email}).json()["id"]
    admin.post("/api/resources", json={"name": email[:100], "operatorIds": [person]})
    return person


def make_token(admin, name, person=None):
    resources = admin.get("/api/resources").json()["resources"]
    resource = next(each for each in resources if person is None or person in each["operatorIds"])
    new = {"name": name, "operatorId": person or resource["operatorIds"][0]}
    made = admin.post("/api/access-tokens", json={**new, "resourceIds": [resource["id"]]})
    return made.json()


# -- keyboard, sizes, colours, names of strangers


def test_a_token_is_made_by_keyboard_alone_without_scripts(chromium, demo):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{demo['baseUrl']}/console/tokens/new")
    page.keyboard.type(demo["adminToken"])  # the field has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".jobs")
    tab_to(page, "main .jobs a")
    page.keyboard.press("Enter")
    page.wait_for_selector("#name")
    page.keyboard.type("By keyboard")
    tab_to(page, "input[name=preset]")
    page.keyboard.press("ArrowDown")
    tab_to(page, "main > form > button")
    page.keyboard.press("Enter")
    page.wait_for_selector(".secret")
    assert page.locator(".secret").inner_text().startswith("agw_")
    tab_to(page, ".menu summary", backwards=True)
    page.keyboard.press("Enter")
    assert page.locator(".menu li a").first.is_visible()
    context.close()


def tab_to(page, selector, *, backwards=False):
    """Press Tab until the element has the focus."""
    for _ in range(80):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
    pytest.fail(f"the keyboard does not reach {selector}")


@pytest.fixture(scope="module")
def pages(admin, demo):
    """Paths of pages, with names that are long, hostile or written from the right."""
    person = make_person(admin, RIGHT_TO_LEFT, f"{'very' * 40}@example.org")
    token = make_token(admin, HOSTILE, person)
    make_token(admin, "W" * 100, person)
    connection = admin.get("/api/connections").json()["connections"][0]["id"]
    rule = {"ruleType": "mime_type", "pattern": "text/plain", "action": "allow"}
    rule["description"] = HOSTILE
    admin.post(f"/api/access-tokens/{token['id']}/collab-rules", json=rule)
    refused_call(admin, demo)
    rows = admin.get("/api/decisions", params={"outcome": "refused"}).json()["decisions"]
    return {
        "changes": "/changes",
        "writes": "/writes",
        "rules-of": "/rules",
        "rules": f"/tokens/{token['id']}/rules",
        "eyes": f"/tokens/{token['id']}/eyes",
        "calls": "/calls",
        "why": "/why",
        "why-call": f"/why/{rows[0]['requestId']}",
        "alive": "/",
        "settings": "/settings",
        "people": "/people",
        "person": f"/people/{person}",
        "tokens": "/tokens",
        "nothing": "/tokens?q=nothing-begins-so",
        "token": f"/tokens/{token['id']}",
        "change": f"/tokens/{token['id']}/change",
        "new-token": f"/tokens/new/{person}",
        "end-all": f"/people/{person}/tokens/end",
        "accounts": "/accounts",
        "account": f"/accounts/{connection}",
        "new-account": f"/accounts/new/{person}",
        "password": f"/accounts/new/{person}/email/IMAP/password",
        "error": "/tokens/999999",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_page_is_readable(visitor, pages, scheme, width):
    page = visitor.page
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    alerts = []
    page.on("dialog", lambda dialog: alerts.append(dialog.message) or dialog.dismiss())
    for name, path in pages.items():
        page.goto(f"{visitor.base}/console{path}")
        for details in page.locator("main details").all():
            details.evaluate("node => { node.open = true }")
        check(page, f"{name}-{scheme}-{width}")
    page.goto(f"{visitor.base}/console{pages['token']}")
    assert heading(page) == HOSTILE
    assert alerts == []
    page.context.clear_cookies()
    page.goto(f"{visitor.base}/console/sign-in")
    check(page, f"sign-in-{scheme}-{width}")
    page.fill("#token", "wrong")
    page.click("main button")
    check(page, f"wrong-{scheme}-{width}")


def check(page, name):
    if SCREENSHOTS:
        page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=True)
    assert findings(page) == [], name
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= page.viewport_size["width"], name


def test_pages_are_small(visitor, pages):
    """Within 60 KB compressed in all, of which each visit loads a page."""
    sizes = {}
    for name, path in pages.items():
        text = visitor.page.request.get(f"{visitor.base}/console{path}").text()
        sizes[name] = len(gzip.compress(text.encode()))
    assert max(sizes.values()) < 15_000, sizes
    assert not re.search(r"<(script|iframe|object|embed)", text)


def test_no_page_can_frame_it(look, demo):
    address = f"{demo['baseUrl']}/console/sign-in"
    look.page.route(
        "https://evil.example/",
        lambda route: route.fulfill(
            content_type="text/html", body=f'<iframe src="{address}"></iframe>'
        ),
    )
    look.page.goto("https://evil.example/")
    look.page.wait_for_timeout(500)
    frames = [frame.url for frame in look.page.frames[1:]]
    assert all("/console" not in url or url.startswith("chrome-error") for url in frames), frames
