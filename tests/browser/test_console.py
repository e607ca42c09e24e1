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
    visitor.page.get_by_label("API token").fill("a-wrong-token")
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
    assert answer.status_code == 200, answer.text


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


def hold_a_draft(admin, demo):
    """Let a new token write a draft that waits; return token, id of the write and its address."""
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
    write_id = held.json()["id"]
    return made, write_id, f"{demo['baseUrl']}/api/access/writes/{write_id}"


def test_job_9_releases_what_is_held(visitor, admin, demo):
    made, _, state = hold_a_draft(admin, demo)
    headers = {"Authorization": f"Bearer {made['token']}"}
    visitor.start()
    visitor.click("1 waits for a person")
    assert "Subject: Oars" in visitor.page.locator("main").inner_text()
    visitor.click("", role="checkbox")
    visitor.click("Release the chosen", role="button")

    assert "It runs within a second or two" in visitor.page.get_by_role("status").inner_text()
    assert visitor.clicks <= MOST_CLICKS
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


def person_named(admin, name):
    people = admin.get("/api/operators").json()["operators"]
    return next(each["id"] for each in people if each["displayName"] == name)


def make_token(admin, name, person=None):
    person = person or person_named(admin, "Nora Lindqvist")
    resources = admin.get("/api/resources").json()["resources"]
    resource = next(each for each in resources if person in each["operatorIds"])
    new = {"name": name, "operatorId": person}
    made = admin.post("/api/access-tokens", json={**new, "resourceIds": [resource["id"]]})
    return made.json()


# -- keyboard, sizes, colours, names of strangers


def test_a_token_is_made_by_keyboard_alone_without_scripts(chromium, demo):
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{demo['baseUrl']}/console/tokens/new")
    page.wait_for_selector("#token:focus")
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
    for _ in range(150):
        if page.locator(f"{selector}:focus").count():
            return
        page.keyboard.press("Shift+Tab" if backwards else "Tab")
    pytest.fail(f"the keyboard does not reach {selector}")


class Keyboard:
    """A person at the first page, without a mouse and without scripts."""

    def __init__(self, page, demo):
        self.page = page
        page.goto(f"{demo['baseUrl']}/console/")
        page.wait_for_selector("#token:focus")
        page.keyboard.type(demo["adminToken"])  # the field has the focus
        self.press("Enter")
        page.wait_for_selector(".jobs")

    def press(self, key):
        self.page.keyboard.press(key)

    def choose(self, *selectors):
        """Go to each element by Tab, and press Enter on it."""
        for selector in selectors:
            tab_to(self.page, selector)
            with self.page.expect_navigation():
                self.press("Enter")

    def type(self, selector, text):
        tab_to(self.page, selector)
        self.page.keyboard.type(text)


@pytest.fixture
def keyboard(chromium, demo):
    context = chromium.new_context(java_script_enabled=False, accept_downloads=True)
    yield Keyboard(context.new_page(), demo)
    context.close()


def job(path):
    return f"main .jobs a[href='/console{path}']"


def test_job_7_by_keyboard(keyboard, admin, demo):
    made = refused_call(admin, demo)
    keyboard.choose(job("/why"), "tbody td a.bad")
    keyboard.choose(*(f"form[action$='/{step}'] button" for step in ("explain", "remedy")))
    keyboard.choose("form[action$='/remedy/apply'] button")

    assert heading(keyboard.page) == "Refused"
    settings = admin.get(f"/api/access-tokens/{made['id']}").json()["settings"]
    assert settings != made["settings"]


def test_job_8_by_keyboard(keyboard, admin, demo):
    refused_call(admin, demo)
    keyboard.choose(job("/calls"))
    keyboard.type("select[name=verdict]", "refused")
    keyboard.choose("form[role=search] button", "a[href*='follow=']")

    assert "every 5 seconds" in keyboard.page.get_by_role("status").inner_text()
    verdicts = keyboard.page.locator("tbody td:nth-child(4)").all_inner_texts()
    assert set(verdicts) == {"refused"}


def test_job_9_by_keyboard(keyboard, admin, demo):
    token, _, state = hold_a_draft(admin, demo)
    keyboard.choose(job("/writes"))
    tab_to(keyboard.page, "input[name=id]")
    keyboard.press("Space")
    keyboard.type("input[name=reason]", "Not now.")
    keyboard.choose("button[value=reject]")

    assert "Not now." in keyboard.page.locator("main").inner_text()
    headers = {"Authorization": f"Bearer {token['token']}"}
    assert httpx.get(state, headers=headers).json()["state"] == "rejected"
    admin.delete(f"/api/access-tokens/{token['id']}")


def test_job_10_by_keyboard(keyboard, admin):
    made = make_token(admin, "Of rules by keyboard")
    keyboard.choose(job("/rules"), "tbody a")
    keyboard.type("form[action$='/recipients/add'] input[name=pattern]", "@example.org")
    with keyboard.page.expect_navigation():
        keyboard.press("Enter")
    keyboard.type("form[action$='/try'] input[name=address]", "ada@else.example")
    keyboard.choose("form[action$='/try'] button")

    assert "refused: a message to" in keyboard.page.get_by_role("status").inner_text()
    settings = admin.get(f"/api/access-tokens/{made['id']}").json()["settings"]
    assert settings["recipientRules"]["allow"] == ["@example.org"]
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_11_by_keyboard(keyboard, admin):
    made = make_token(admin, "To look with by keyboard")
    keyboard.choose(job("/tokens"), "tbody a", "a[href$='/eyes']", "main form button")
    tab_to(keyboard.page, "a.button[href*='open.html#token=agw_']")

    assert heading(keyboard.page) == "Open the explorer"
    admin.delete(f"/api/access-tokens/{made['id']}")


def test_job_12_by_keyboard(keyboard, admin):
    make_token(admin, "Made")
    keyboard.choose(job("/changes"))
    keyboard.type("input[name=action]", "createToken")
    keyboard.choose("form[role=search] button")
    actions = keyboard.page.locator("tbody td:nth-child(3)").all_inner_texts()
    assert set(actions) == {"createToken"}
    tab_to(keyboard.page, "a[href*='format=csv']")
    with keyboard.page.expect_download() as download:
        keyboard.press("Enter")

    assert download.value.suggested_filename == "changes.csv"


# -- two administrators, each in a tab


def sign_in(page, demo):
    page.goto(f"{demo['baseUrl']}/console/sign-in")
    page.fill("#token", demo["adminToken"])
    page.click("main button")
    page.wait_for_selector(".jobs")


def test_a_form_of_a_tab_is_not_sent_as_the_admin_of_another_tab(chromium, admin, demo):
    made = make_token(admin, "In two tabs")
    context = chromium.new_context()
    first, second = context.new_page(), context.new_page()
    sign_in(first, demo)
    first.goto(f"{demo['baseUrl']}/console/tokens/{made['id']}")
    sign_in(second, demo)
    first.get_by_role("button", name="End this token").click()

    assert "This form belongs to another session" in first.get_by_role("alert").inner_text()
    assert admin.get(f"/api/access-tokens/{made['id']}").json()["status"] == "active"
    first.goto(f"{demo['baseUrl']}/console/tokens/{made['id']}")
    first.get_by_role("button", name="End this token").click()
    assert first.locator("dd.bad").inner_text() == "revoked"
    context.close()


def test_of_two_admins_one_saves_and_the_other_is_told(chromium, admin, demo):
    made = make_token(admin, "Of two admins")
    contexts = [chromium.new_context() for _ in range(2)]
    tabs = [context.new_page() for context in contexts]
    for name, tab in zip("ab", tabs, strict=True):
        sign_in(tab, demo)
        tab.goto(f"{demo['baseUrl']}/console/tokens/{made['id']}/change")
        tab.fill("input[name=name]", name)
        tab.get_by_role("button", name="Show the difference").click()
    for tab in tabs:
        tab.get_by_role("button", name="Save it").click()

    assert heading(tabs[0]) == "a"
    assert "Somebody changed this token meanwhile." in tabs[1].get_by_role("alert").inner_text()
    assert admin.get(f"/api/access-tokens/{made['id']}").json()["name"] == "a"
    admin.delete(f"/api/access-tokens/{made['id']}")
    for context in contexts:
        context.close()


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
    quota = {"settings": {"quota": {"perMinute": 5, "perHour": 40, "perDay": 100}}}
    admin.patch(f"/api/access-tokens/{token['id']}", json=quota)
    hold_a_draft(admin, demo)
    return {
        "charts": "/charts",
        "client": f"/accounts/new/{person}/collab/COLLAB/client",
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
