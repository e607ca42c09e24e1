"""Jobs 7 and 8: calls are followed, explained, and allowed by the remedy that was shown."""

import json
import re

import pytest
import pytest_asyncio
from console_rows import alike, changes

from gateway.explain.recorded import _endpoints, likely_call
from gateway.operations.overviews import calls
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow
from rest_compat.table import ENDPOINTS

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
HOSTILE = '"><script>alert(1)</script>'


@pytest_asyncio.fixture(loop_scope="module")
async def mailbox(gateway, operator, resource):
    """An account without credentials, in the resource of the token."""
    now = timestamps.now_ms()
    async with gateway.services.database.writing() as session:
        session.add(
            ConnectionRow(
                resource_id=resource,
                operator_id=operator,
                kind="email",
                provider="PROVIDER_A",
                account_email="ada@example.org",
                granted_scopes=[],
                status="active",
                selected_site_ids=[],
                can_write=False,
                created_at=now,
                updated_at=now,
            )
        )


def shown(page):
    return re.findall(r'/console/why/([\w.-]+)"', page.text)


async def test_calls_are_those_of_the_management_api(browser, admin, gateway, token):
    authorization = {"Authorization": f"Bearer {token['token']}"}
    for path in ("/api/access/email/messages", "/api/access/calendar/events", "/api/access/token"):
        await admin.get(path, headers=authorization)
    page = await browser.open("/console/calls")
    listed = (await admin.get("/api/decisions", params={"tokenId": token["id"]})).json()

    of_calls = [row["requestId"] for row in listed["decisions"] if not row["actor"]]
    assert len(of_calls) == 3
    assert shown(page) == of_calls
    assert "createToken" not in page.text


FILTERS = [
    ("token=2", ["r1"]),
    ("verdict=refused", ["r3"]),
    ("door=agent", ["r2"]),
    ("kind=write", ["r4"]),
    ("kind=read", ["r3", "r2", "r1", "r0"]),
    ("token=1&verdict=refused&door=rest&kind=read", ["r3"]),
    ("token=2&verdict=refused", []),
    ("", ["r4", "r3", "r2", "r1", "r0"]),
]


@pytest.mark.parametrize(("query", "expected"), FILTERS)
async def test_each_filter_finds_its_calls(browser, log, query, expected):
    await log(
        {},
        {"token_id": 2},
        {"door": "agent"},
        {"outcome": "refused", "layer": "operation", "code": "OPERATION_NOT_ALLOWED"},
        {"operation": "sendEmail"},
        {"operation": "changeToken", "actor": "ana", "door": "admin"},
    )

    assert shown(await browser.open(f"/console/calls?{query}")) == expected


@pytest.mark.parametrize(
    "query",
    ["token=x", "token=0", "verdict=maybe", "door=admin", "kind=both", "pageToken=1", "before=1"],
)
async def test_an_unknown_filter_is_refused(browser, query):
    assert (await browser.open(f"/console/calls?{query}")).status_code == 400


async def test_every_call_is_on_one_page_in_order(browser, log):
    await log(*({"operation": "sendEmail" if n % 3 else "emails"} for n in range(160)))
    path, seen = "?kind=write", []
    while path:
        page = await browser.open(f"/console/calls{path}")
        seen.append(shown(page))
        older = re.search(r'<a href="(\?[^"]*)">Older calls', page.text)
        path = older and older[1].replace("&amp;", "&")

    assert [len(each) for each in seen] == [50, 50, 6]
    assert [each for part in seen for each in part] == [
        f"r{n}" for n in reversed(range(160)) if n % 3
    ]


async def test_a_filter_that_matches_little_reads_a_page_of_the_log(browser, log, monkeypatch):
    monkeypatch.setattr(calls, "READ", 10)
    await log({"door": "agent"}, *({} for _ in range(15)))
    page = await browser.open("/console/calls?door=agent")

    assert shown(page) == []
    assert "None of the 10 rows that were looked at matches." in page.text
    older = re.search(r'<a href="(\?[^"]*)">Older calls', page.text)[1].replace("&amp;", "&")
    assert shown(await browser.open(f"/console/calls{older}")) == ["r0"]


async def test_following_ends_by_itself(browser):
    following = await browser.open("/console/calls?token=1&follow=2")
    assert following.headers["refresh"] == "5;url=/console/calls?token=1&follow=1"
    assert "refresh" not in (await browser.open("/console/calls?follow=0")).headers
    for wrong in ("x", "9999", "-1"):
        assert (await browser.open(f"/console/calls?follow={wrong}")).status_code == 400


async def test_texts_of_strangers_are_escaped(browser, log):
    await log({"resource_id": HOSTILE, "request_id": HOSTILE, "outcome": "refused"})
    for path in ("/console/calls", "/console/why"):
        page = await browser.open(path)
        assert page.status_code == 200
        assert "<script" not in page.text
    unknown = await browser.open("/console/why?request_id=%3Cscript%3E")
    assert unknown.status_code == 404
    assert "&lt;script&gt;" in unknown.text


async def test_every_documented_call_is_found_by_its_field():
    rows = [row for listed in _endpoints().values() for row in listed]

    assert len(rows) == len(ENDPOINTS)
    assert likely_call("email", "providerA:1") == (
        "GET",
        "/api/access/email/messages/providerA%3A1",
    )
    assert likely_call("emails", None) == ("GET", "/api/access/email/messages")
    assert likely_call("nothing", "x") == ("", "")


async def test_a_refused_call_is_allowed_by_the_remedy_that_was_shown(
    browser, submit, admin, token, mailbox
):
    """Settings, the same row as by the management call, and nothing before the last button."""
    path = f"/console/tokens/{token['id']}"
    authorization = {"Authorization": f"Bearer {token['token']}"}
    refused = await admin.get("/api/access/email/messages", headers=authorization)
    assert refused.status_code == 422
    (request_id, *_) = shown(await browser.open("/console/why"))
    assert request_id == refused.headers["x-request-id"]
    page = await browser.open(f"/console/why/{request_id}")
    assert "by the layer <code>surface</code>" in page.text
    explained = await submit(f"{path}/explain")
    call = {"method": "GET", "path": "/api/access/email/messages"}
    of_api = (await admin.post(f"/api/access-tokens/{token['id']}/explain", json=call)).json()
    change = of_api["change"] or of_api["partialChange"]
    assert f"<bdi>{of_api['message']}</bdi>" in explained.text
    assert f"<bdi>{change['text']}</bdi>" in explained.text
    _, last = await changes(admin)
    difference = await submit(f"{path}/remedy")
    assert '<p class="host bad">wider</p>' in difference.text
    assert (await changes(admin, after=last))[0] == []
    applied = await submit(f"{path}/remedy/apply")
    rows, last = await changes(admin, after=last)
    after = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    await admin.patch(f"/api/access-tokens/{token['id']}", json={"settings": change["settings"]})
    patched, _ = await changes(admin, after=last)

    assert applied.headers["location"] == path
    assert after["settings"] == {**token["settings"], **change["settings"]} != token["settings"]
    assert [{**row, "policyRevision": 0} for row in alike(rows)] == [
        {**row, "policyRevision": 0} for row in alike(patched)
    ]


REMEDY = {
    "settings": {"collabAccessEnabled": True},
    "addRules": [{"ruleType": "mime_type", "pattern": "text/plain", "action": "allow"}],
}


async def preview(browser, token, remedy):
    await browser.open(f"/console/tokens/{token['id']}")
    members = {"change": json.dumps(remedy)}
    return await browser.send(f"/console/tokens/{token['id']}/remedy", **members)


async def test_settings_and_rules_of_a_remedy_are_applied_together(browser, submit, admin, token):
    rules = f"/api/access-tokens/{token['id']}/collab-rules"
    new = {"ruleType": "mime_type", "pattern": "image/png", "action": "block"}
    old = (await admin.post(rules, json=new)).json()
    shown = await preview(browser, token, {**REMEDY, "removeRules": [old["id"]]})
    assert "added: allow mime_type" in shown.text
    assert "removed: block mime_type" in shown.text
    applied = await submit(f"/console/tokens/{token['id']}/remedy/apply")

    assert applied.status_code == 303
    listed = (await admin.get(rules)).json()["rules"]
    assert [(rule["pattern"], rule["action"]) for rule in listed] == [("text/plain", "allow")]
    after = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    assert after["settings"]["collabAccessEnabled"] is True
    rows, _ = await changes(admin)
    assert [row["operation"] for row in rows[-3:]] == ["changeToken", "removeRule", "createRule"]


async def test_a_remedy_for_a_token_that_changed_is_not_applied(browser, submit, admin, token):
    path = f"/api/access-tokens/{token['id']}"
    await preview(browser, token, REMEDY)
    await admin.patch(path, json={"name": "other"})
    refused = await submit(f"/console/tokens/{token['id']}/remedy/apply")

    assert refused.status_code == 412
    assert (await admin.get(path)).json()["settings"]["collabAccessEnabled"] is False
    assert (await admin.get(f"{path}/collab-rules")).json()["rules"] == []


async def test_of_a_remedy_all_or_nothing_is_applied(browser, submit, admin, token):
    rules = f"/api/access-tokens/{token['id']}/collab-rules"
    await admin.post(rules, json=REMEDY["addRules"][0])
    await preview(browser, token, REMEDY)
    refused = await submit(f"/console/tokens/{token['id']}/remedy/apply")

    assert refused.status_code == 409
    after = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    assert after["settings"]["collabAccessEnabled"] is False


@pytest.mark.parametrize(
    "remedy",
    [[], {"else": 1}, {"settings": {"unknown": 1}}, {"removeRules": [0]}, {"addRules": [{}]}],
)
async def test_a_remedy_that_cannot_be_read_is_refused(browser, token, remedy):
    assert (await preview(browser, token, remedy)).status_code == 400


@pytest.mark.parametrize("form", ["explain", "remedy", "remedy/apply"])
async def test_each_form_needs_the_token_of_its_session(browser, admin, token, form):
    members = {"form_token": "x", "change": json.dumps(REMEDY), "revision": "1"}
    await browser.open("/console/why")
    answer = await browser.send(f"/console/tokens/{token['id']}/{form}", **members)

    assert answer.status_code == 403
    after = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    assert after["settings"] == token["settings"]
