"""Texts of strangers on the pages: names, addresses, what providers say; they are text alone."""

import hmac

import pytest
import pytest_asyncio
from pydantic import SecretStr
from sqlmodel import select

from gateway.app import assemble
from gateway.http import entry
from gateway.store.tables import ConnectionRow, DecisionRow

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{ 7 * 7 }}\u202e"
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;{{ 7 * 7 }}"
ADDRESS = '"<script>alert(1)</script>"@example.org'


@pytest_asyncio.fixture(loop_scope="module")
async def pages(admin, gateway):
    """Paths of pages that show a person, an account, a token and a call with hostile texts."""
    person = (
        await admin.post("/api/operators", json={"displayName": HOSTILE[:-1], "email": ADDRESS})
    ).json()["id"]
    resource = (
        await admin.post("/api/resources", json={"name": HOSTILE[:-1], "operatorIds": [person]})
    ).json()["id"]
    second = {"name": "x", "operatorIds": [person]}
    await admin.post("/api/resources", json=second)
    new = {"name": HOSTILE[:-1], "operatorId": person, "resourceIds": [resource]}
    token = (await admin.post("/api/access-tokens", json=new)).json()["id"]
    account = {
        "resourceId": resource,
        "operatorId": person,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": ADDRESS,
    }
    connection = (await admin.post("/api/connections", json=account)).json()["id"]
    async with gateway.services.database.writing() as session:
        row = (await session.exec(select(ConnectionRow))).one()
        row.status, row.status_detail = "error", HOSTILE
        session.add(row)
        session.add(a_failed_call(token))
    return [
        *("/", "/people", f"/people/{person}", f"/people/{person}/tokens/end", "/tokens"),
        *(f"/tokens/{token}", f"/tokens/{token}/change", f"/tokens/new/{person}", "/tokens/new"),
        *("/accounts", f"/accounts/{connection}", f"/accounts/new/{person}"),
        f"/accounts/new/{person}/email/IMAP/password",
    ]


def a_failed_call(token):
    """Return a row of the decision log whose texts came from a caller."""
    return DecisionRow(
        at=2**42,
        request_id=HOSTILE[:100],
        token_id=token,
        operator_id="o",
        door="rest",
        surface="email",
        operation=HOSTILE[:64],
        resource_id=HOSTILE,
        outcome="failed",
        layer="upstream",
        code=HOSTILE[:64],
        status=502,
        policy_rev=1,
        hidden_fields=0,
        cost=1,
        duration=1,
        upstream_calls=1,
        chain="c",
        number=1,
        signature="s",
    )


async def test_they_are_escaped_on_every_page(browser, pages):
    shown = 0
    for path in pages:
        page = await browser.open(f"/console{path}")
        assert page.status_code == 200, path
        assert "<script" not in page.text, path
        assert "<img" not in page.text, path
        shown += page.text.count(ESCAPED)
    assert shown >= len(pages)


async def test_what_a_form_sends_is_escaped_in_its_refusal(browser):
    await browser.open("/console/people")
    refused = await browser.send("/console/people", email=HOSTILE, displayName=HOSTILE)
    assert refused.status_code == 400
    assert "<script" not in refused.text
    for path in (f"/console/tokens?q={HOSTILE}", f"/console/people?q={HOSTILE}"):
        page = await browser.open(path)
        assert ESCAPED in page.text
        assert "<script" not in page.text


async def test_an_address_of_a_page_is_never_quoted_as_markup(browser):
    unknown = await browser.open('/console/"><script>alert(1)</script>')

    assert unknown.status_code == 404
    assert "<script" not in unknown.text


@pytest.mark.parametrize("token", ["bo-has-this-admin-token", "zoe-has-this-admin-token", "wrong"])
async def test_signing_in_compares_every_admin_token_in_constant_time(
    settings, browser_of, monkeypatch, token
):
    compared, compare = [], hmac.compare_digest

    def counting(left, right):
        compared.append((left, right))
        return compare(left, right)

    monkeypatch.setattr(entry.hmac, "compare_digest", counting)
    named = SecretStr("bo:bo-has-this-admin-token,zoe:zoe-has-this-admin-token")
    async with assemble(settings.model_copy(update={"admin_tokens": named})).running() as gateway:
        browser = browser_of(gateway)
        await browser.open("/console/sign-in")
        compared.clear()
        answer = await browser.send("/console/sign-in", token=token)

    digests = [pair for pair in compared if isinstance(pair[0], bytes) and len(pair[0]) == 32]
    assert len(digests) == 3
    assert answer.status_code == (403 if token == "wrong" else 303)
