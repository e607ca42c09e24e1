"""Sessions of the console: how they begin and end, and what pages of others can do with them."""

import logging
import re

import pytest
import pytest_asyncio
from pydantic import SecretStr
from sqlmodel import select

from gateway.app import assemble
from gateway.console import forms, sessions
from gateway.console.routes import ROUTERS, router
from gateway.store import timestamps
from gateway.store.sign_in_tables import ConsoleSession
from gateway.store.tables import DecisionRow

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

ADMIN_TOKEN = "the-admin-token-of-the-tests"
ROUTES = [
    (method, re.sub(r"{[^}]*}", "1", route.path))
    for part in (router, *ROUTERS)
    for route in part.routes
    for method in route.methods
]
FORMS = [path for method, path in ROUTES if method == "POST"]


@pytest.fixture
def stored(gateway):
    """A function that reads the stored sessions."""

    async def read():
        async with gateway.services.database.reading() as session:
            return list(await session.exec(select(ConsoleSession)))

    return read


@pytest.fixture
def restored(gateway):
    """A function that changes the one stored session."""

    async def change(**members):
        async with gateway.services.database.writing() as session:
            row = (await session.exec(select(ConsoleSession))).one()
            session.add(row.sqlmodel_update(members))

    return change


@pytest.fixture
def opened(settings):
    """A function that opens another process over the store, with other settings."""

    def open_(**changed):
        return assemble(settings.model_copy(update=changed)).running()

    return open_


async def test_an_admin_token_begins_a_session(stranger, gateway, stored):
    asked = await stranger.open("/console/")
    assert asked.status_code == 303
    assert asked.headers["location"] == "/console/sign-in?to=%2Fconsole%2F"

    signed_in = await stranger.sign_in()
    assert signed_in.status_code == 303
    assert signed_in.headers["location"] == "/console/"
    name, *attributes = signed_in.headers["set-cookie"].split("; ")
    assert attributes == ["HttpOnly", "Path=/console", "SameSite=strict"]
    (row,) = await stored()
    secret = name.removeprefix("agw_console=")
    assert (row.digest, row.admin) == (sessions.key_of(secret), "admin")
    page = await stranger.open("/console/")
    assert page.status_code == 200
    assert page.headers["cache-control"] == "no-store"
    async with gateway.services.database.reading() as session:
        (change,) = await session.exec(select(DecisionRow))
    assert (change.operation, change.actor, change.door) == ("signInConsole", "admin", "admin")


@pytest.mark.parametrize("token", ["", "wrong", ADMIN_TOKEN[:-1], f"{ADMIN_TOKEN}x", "\udcff" * 20])
async def test_another_text_begins_none(stranger, stored, token):
    await stranger.open("/console/sign-in")
    refused = await stranger.send("/console/sign-in", token=token.encode("utf-8", "surrogatepass"))

    assert refused.status_code in {400, 403}
    assert "set-cookie" not in refused.headers
    assert await stored() == []
    assert (await stranger.open("/console/")).status_code == 303


async def test_a_page_that_was_asked_for_is_opened_after_signing_in(stranger):
    asked = await stranger.open("/console/?a=1&b=2")
    await stranger.open(asked.headers["location"])
    target = stranger.hidden("to")
    signed_in = await stranger.send("/console/sign-in", token=ADMIN_TOKEN, to=target)

    assert signed_in.headers["location"] == "/console/?a=1&b=2"


@pytest.mark.parametrize(
    "target",
    [
        *("https://evil.example/", "//evil.example/console/", "/explorer/", "javascript:alert(1)"),
        *("/console/\\evil", "/console/\r\nX: 1", "/console/ä", ""),
    ],
)
async def test_signing_in_leads_to_a_page_of_the_console_alone(stranger, target):
    assert (await stranger.sign_in(to=target)).headers["location"] == "/console/"


async def test_signing_in_replaces_the_session_that_the_browser_had(stranger, stored):
    await stranger.sign_in()
    first = stranger.client.cookies[sessions.COOKIE]
    await stranger.sign_in()
    second = stranger.client.cookies[sessions.COOKIE]

    assert first != second
    assert [row.digest for row in await stored()] == [sessions.key_of(second)]


async def test_a_cookie_that_somebody_planted_is_never_adopted(stranger, stored):
    stranger.client.cookies.set(sessions.COOKIE, "planted", path="/console")
    await stranger.sign_in()
    stranger.client.cookies.clear()
    stranger.client.cookies.set(sessions.COOKIE, "planted", path="/console")

    assert (await stranger.open("/console/")).status_code == 303
    assert sessions.key_of("planted") not in [row.digest for row in await stored()]


async def test_signing_out_ends_the_session(browser, stored):
    secret = browser.client.cookies[sessions.COOKIE]
    signed_out = await browser.send("/console/sign-out")

    assert signed_out.headers["location"] == "/console/sign-in"
    assert "Max-Age=0" in signed_out.headers["set-cookie"]
    assert await stored() == []
    browser.client.cookies.set(sessions.COOKIE, secret, path="/console")
    assert (await browser.open("/console/")).status_code == 303


async def test_a_session_ends_without_requests_and_after_twelve_hours(browser, restored):
    now = timestamps.now_ms()
    await restored(seen_at=now - sessions.IDLE_MS + 60_000)
    assert (await browser.open("/console/")).status_code == 200  # which counts as seen
    await restored(seen_at=now - sessions.IDLE_MS - 1)
    assert (await browser.open("/console/")).status_code == 303
    await browser.sign_in()
    await restored(started_at=now - sessions.LONGEST_MS - 1)
    assert (await browser.open("/console/")).status_code == 303
    await browser.sign_in()  # which removes what has ended
    assert (await browser.open("/console/")).status_code == 200


async def test_a_request_keeps_a_session_alive(browser, restored, stored):
    long_ago = timestamps.now_ms() - sessions.IDLE_MS + 60_000
    await restored(seen_at=long_ago)
    await browser.open("/console/")
    (row,) = await stored()

    assert row.seen_at > long_ago


@pytest.mark.parametrize(
    "admins",
    [
        {"admin_token": SecretStr("another-admin-token-of-the-tests")},
        {"admin_token": None, "admin_tokens": SecretStr(f"ana:{ADMIN_TOKEN}")},
    ],
)
async def test_a_session_ends_with_its_admin_token(opened, browser, browser_of, admins):
    async with opened(**admins) as changed:
        other = browser_of(changed)
        other.client.cookies = browser.client.cookies

        assert (await other.open("/console/")).status_code == 303
    assert (await browser.open("/console/")).status_code == 200


async def test_another_process_knows_the_session(opened, browser, browser_of):
    async with opened() as second:
        other = browser_of(second)
        other.client.cookies = browser.client.cookies

        assert (await other.open("/console/")).status_code == 200


async def test_the_cookie_is_sent_by_https_alone_where_the_console_is_reached_so(
    opened, browser_of
):
    async with opened(public_url="https://gateway.test") as secure:
        browser = browser_of(secure)
        await browser.open("/console/sign-in")
        by_https = {"Origin": "https://gateway.test"}
        form = {"token": ADMIN_TOKEN}
        signed_in = await browser.client.post("/console/sign-in", data=form, headers=by_https)
        assert "; Secure" in signed_in.headers["set-cookie"]
        signed_in = await browser.client.post("/console/sign-in", data=form)
        assert "; Secure" in signed_in.headers["set-cookie"]


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_every_page_needs_a_session(stranger, method, path):
    answer = await stranger.client.request(method, path)

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/console/sign-in")


@pytest.mark.parametrize("path", FORMS)
async def test_every_form_needs_the_token_of_its_session(gateway, browser, browser_of, path):
    """Nothing of the form is looked at before, so that the refusal is the same for all."""
    other = browser_of(gateway)
    await other.sign_in()
    await other.open("/console/")
    theirs = other.hidden(forms.FORM_TOKEN)
    for members in ({}, {forms.FORM_TOKEN: ""}, {forms.FORM_TOKEN: theirs}):
        refused = await browser.client.post(path, data=members)
        assert refused.status_code == 403
        assert "This form belongs to another session" in refused.text


@pytest.mark.parametrize("path", ["/console/sign-in", *FORMS])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
async def test_a_form_of_another_site_is_refused(browser, path, headers):
    members = {forms.FORM_TOKEN: browser.hidden(forms.FORM_TOKEN), "token": ADMIN_TOKEN}
    refused = await browser.client.post(path, data=members, headers=headers)

    assert refused.status_code == 403
    assert "Another site sent this form. Nothing was changed." in refused.text


async def test_a_form_of_the_first_tab_is_not_sent_as_the_admin_of_the_second(opened, browser_of):
    """Two admins in two tabs of one browser: the second replaces the cookie of the first."""
    async with opened(admin_tokens=SecretStr("bo:the-admin-token-of-bo")) as gateway:
        browser = browser_of(gateway)
        await browser.sign_in()
        first_tab = await browser.open("/console/")
        await browser.sign_in("the-admin-token-of-bo")
        second_tab = await browser.open("/console/")
        browser.page = first_tab
        refused = await browser.send("/console/sign-out")
        assert refused.status_code == 403
        assert "perhaps in another tab" in refused.text
        browser.page = second_tab
        assert "<bdi>bo</bdi>" in second_tab.text
        assert (await browser.send("/console/sign-out")).status_code == 303


async def test_no_page_runs_scripts_or_can_be_framed(browser, stranger):
    for page in (await browser.open("/console/"), await stranger.open("/console/sign-in")):
        policy = page.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert policy.endswith("base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["referrer-policy"] == "same-origin"
        assert "<script" not in page.text
        assert ' style="' not in page.text


async def test_guesses_are_limited_and_keep_the_right_token_out_never(opened, browser_of):
    async with opened(rate_limits="on") as limited:
        browser = browser_of(limited)
        await browser.open("/console/sign-in")
        statuses = [
            (await browser.send("/console/sign-in", token="x")).status_code for _ in "x" * 61
        ]
        assert statuses == [403] * 60 + [429]
        assert browser.page.headers["retry-after"]
        assert "Too many requests" in browser.page.text
        assert (await browser.sign_in()).status_code == 303


async def test_cookies_that_are_unknown_are_limited_as_guesses(opened, browser_of):
    async with opened(rate_limits="on") as limited:
        browser = browser_of(limited)
        browser.client.cookies.set(sessions.COOKIE, "guess", path="/console")
        statuses = []
        for _ in range(61):
            statuses.append((await browser.open("/console/")).status_code)
            browser.client.cookies.set(sessions.COOKIE, "guess", path="/console")
        assert statuses == [303] * 60 + [429]


async def test_neither_logs_nor_addresses_have_the_admin_token(stranger, caplog):
    with caplog.at_level(logging.DEBUG):
        answers = [await stranger.sign_in(), await stranger.open("/console/")]
        answers.append(await stranger.send("/console/sign-in", token=ADMIN_TOKEN + "x"))

    logged = "".join(str(record.__dict__) for record in caplog.records if record.name != "httpx")
    assert "/console/sign-in" in logged
    assert ADMIN_TOKEN not in logged
    assert stranger.client.cookies[sessions.COOKIE] not in logged
    for answer in answers:
        assert ADMIN_TOKEN not in answer.text
        assert ADMIN_TOKEN not in str(answer.url)
        assert ADMIN_TOKEN not in str(answer.headers)


async def test_a_setting_switches_it_off(opened, browser_of):
    async with opened(console=False) as off:
        browser = browser_of(off)
        for path in ("/console/", "/console/sign-in"):
            answer = await browser.open(path)
            assert answer.status_code == 404
            assert answer.headers["content-type"] == "application/json"


@pytest_asyncio.fixture(loop_scope="module")
async def listeners(opened, browser_of):
    """Browsers of the listener for administrators and of the other one."""
    async with opened(admin_port=9000) as gateway:
        admin, public = browser_of(gateway), browser_of(gateway)
        admin.client._transport.client = ("127.0.0.1", 123)
        admin.client.base_url = "http://gateway.test:9000"
        yield admin, public


async def test_a_listener_for_administrators_serves_it_alone(listeners):
    admin, public = listeners
    assert (await public.open("/console/sign-in")).status_code == 404
    assert (await admin.open("/console/sign-in")).status_code == 200
    form, headers = {"token": ADMIN_TOKEN}, {"Origin": "http://gateway.test:9000"}
    signed_in = await admin.client.post("/console/sign-in", data=form, headers=headers)
    assert signed_in.status_code == 303
