"""A browser without scripts, signed in to the console of the module's process."""

import html
import re

import httpx
import pytest
import pytest_asyncio
from decision_rows import decision_row

from gateway.store import timestamps
from gateway.store.tables import DecisionRow

BASE = "http://gateway.test"
ADMIN_TOKEN = "the-admin-token-of-the-tests"


class Browser:
    """Keeps cookies, follows no redirect, and sends the hidden members of the last page's forms."""

    def __init__(self, client):
        self.client = client
        self.page = None

    async def open(self, path):
        self.page = await self.client.get(path)
        return self.page

    async def send(self, path, **members):
        """Send a form with the token of the last page."""
        token = self.hidden("form_token")
        values = {"form_token": token, **members} if token else members
        self.page = await self.client.post(path, data=values, headers={"Origin": BASE})
        return self.page

    def hidden(self, name):
        match = re.search(rf'name="{name}" value="([^"]*)"', self.page.text if self.page else "")
        return html.unescape(match[1]) if match else None

    async def sign_in(self, token=ADMIN_TOKEN, to="/console/"):
        await self.open("/console/sign-in")
        return await self.send("/console/sign-in", token=token, to=to)


@pytest.fixture
def browser_of():
    """A function that makes a browser for a gateway."""

    def make(gateway):
        transport = httpx.ASGITransport(gateway, raise_app_exceptions=False)
        return Browser(httpx.AsyncClient(transport=transport, base_url=BASE))

    return make


@pytest_asyncio.fixture(loop_scope="module")
async def stranger(gateway, browser_of):
    """A browser without a session."""
    browser = browser_of(gateway)
    yield browser
    await browser.client.aclose()


@pytest_asyncio.fixture(loop_scope="module")
async def browser(gateway, browser_of):
    """A browser with a session, on the first page."""
    browser = browser_of(gateway)
    await browser.sign_in()
    await browser.open("/console/")
    yield browser
    await browser.client.aclose()


@pytest.fixture
def submit(browser):
    """A function that sends the form of the page as it is, but for *changed* members."""

    async def send(path, **changed):
        members = fields_of(browser.page.text)
        members |= {
            name: [value] if isinstance(value, str) else value for name, value in changed.items()
        }
        members["form_token"] = [browser.hidden("form_token")]
        answer = await browser.client.post(path, data=members)
        browser.page = answer
        return answer

    return send


def fields_of(text):
    """Return the members that a browser sends of the controls of a page."""
    fields = {}
    for tag in re.findall(r"<(?:input|textarea)[^>]*>(?:[^<]*</textarea>)?", text):
        name = re.search(r'name="([^"]*)"', tag)
        value = re.search(r'value="([^"]*)"', tag)
        area = re.search(r">([^<]*)</textarea>", tag)
        is_box = 'type="checkbox"' in tag or 'type="radio"' in tag
        if name is None or (is_box and " checked" not in tag):
            continue
        shown = area[1] if area else value[1] if value else "on"
        fields.setdefault(name[1], []).append(html.unescape(shown))
    for name, options in re.findall(
        r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', text, re.DOTALL
    ):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        first = re.search(r'<option(?: value="([^"]*)")?>([^<]*)', options)
        option = chosen or first
        fields[name] = [option[1] or option[2]]
    return fields


@pytest.fixture
def log(gateway):
    """A function that stores rows of the decision log: members that differ, oldest first."""

    async def store(*rows):
        now = timestamps.now_ms() - 1000 * len(rows)
        async with gateway.services.database.writing() as session:
            for number, members in enumerate(rows):
                values = {"request_id": f"r{number}", "at": now + 1000 * number, **members}
                row = decision_row(**values)._asdict()
                session.add(DecisionRow(**row, chain="test", number=number, signature=""))

    return store
