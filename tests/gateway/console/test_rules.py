"""Job 10: rules are edited as by the management API, and examples are tried against them."""

import html
import re

import pytest
from console_rows import alike, changes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
HOSTILE = '"><script>alert(1)</script>'
NEW = {"ruleType": "mime_type", "pattern": "text/plain", "action": "block", "description": HOSTILE}


def revisionless(rows):
    return [{**row, "policyRevision": 0} for row in alike(rows)]


async def rules_of(admin, token):
    listed = (await admin.get(f"/api/access-tokens/{token['id']}/collab-rules")).json()["rules"]
    return [(rule["ruleType"], rule["pattern"], rule["action"]) for rule in listed]


async def test_a_rule_is_added_changed_and_removed_as_by_the_management_api(
    browser, admin, token, new_token
):
    other = (await admin.post("/api/access-tokens", json=new_token)).json()
    path, api = (
        f"/console/tokens/{token['id']}/rules",
        f"/api/access-tokens/{other['id']}/collab-rules",
    )
    await browser.open(path)
    _, last = await changes(admin)
    added = await browser.send(f"{path}/add", **NEW)
    assert added.headers["location"] == path
    assert await rules_of(admin, token) == [("mime_type", "text/plain", "block")]
    page = await browser.open(path)
    assert "<script" not in page.text
    change = {"action": "allow", "pattern": "image/png"}
    listed = (await admin.get(f"/api/access-tokens/{token['id']}/collab-rules")).json()["rules"]
    rule = listed[0]["id"]
    assert (await browser.send(f"{path}/{rule}/change", **change)).status_code == 303
    assert await rules_of(admin, token) == [("mime_type", "image/png", "allow")]
    await browser.open(path)
    assert (await browser.send(f"{path}/{rule}/remove")).status_code == 303
    assert await rules_of(admin, token) == []
    rows, last = await changes(admin, after=last)
    made = (await admin.post(api, json=NEW)).json()["id"]
    await admin.patch(f"{api}/{made}", json=change)
    await admin.delete(f"{api}/{made}")
    of_api, _ = await changes(admin, after=last)

    assert [row["operation"] for row in rows] == ["createRule", "changeRule", "removeRule"]
    assert revisionless(rows) == revisionless(of_api)


async def test_recipient_rules_are_edited_as_by_the_management_api(browser, admin, token):
    path = f"/console/tokens/{token['id']}"
    await browser.open(f"{path}/rules")
    _, last = await changes(admin)
    for rule in (("allow", "@example.org"), ("block", "bo@example.org")):
        await browser.open(f"{path}/rules")
        sent = await browser.send(f"{path}/recipients/add", action=rule[0], pattern=rule[1])
        assert sent.status_code == 303
    page = await browser.open(f"{path}/rules")
    assert "bo@example.org" in page.text
    await browser.send(f"{path}/recipients/remove", action="block", pattern="bo@example.org")
    rows, last = await changes(admin, after=last)
    settings = (await admin.get(f"/api/access-tokens/{token['id']}")).json()["settings"]
    rules = {"allow": ["@example.org"], "block": []}
    await admin.patch(
        f"/api/access-tokens/{token['id']}", json={"settings": {"recipientRules": rules}}
    )
    of_api, _ = await changes(admin, after=last)

    assert settings["recipientRules"] == rules
    assert revisionless(rows) == revisionless(of_api) * 3


FILE = "collab:drive:b!d:item:01F"
EXAMPLES = [
    ({"address": "ada@example.org"}, "allowed", "by allow <code><bdi>@example.org</bdi></code>"),
    ({"address": "ada@else.example"}, "refused", "as no rule matches"),
    ({"content": FILE, "mimeType": "text/plain"}, "refused", "by rule "),
    ({"content": FILE, "mimeType": "text/html"}, "refused", "by the default"),
]


@pytest.mark.parametrize("case", EXAMPLES)
async def test_an_example_says_what_decides(browser, admin, token, case):
    example, verdict, reason = case
    await admin.post(f"/api/access-tokens/{token['id']}/collab-rules", json=NEW)
    settings = {"recipientRules": {"allow": ["@example.org"]}}
    await admin.patch(f"/api/access-tokens/{token['id']}", json={"settings": settings})
    path = f"/console/tokens/{token['id']}/rules"
    await browser.open(path)
    _, last = await changes(admin)
    shown = await browser.send(f"{path}/try", **example)

    assert shown.status_code == 200
    assert f">{verdict}</strong>" in shown.text
    assert reason in shown.text
    assert (await changes(admin, after=last))[0] == []


@pytest.mark.parametrize(
    "case",
    [
        ("rules/add", {**NEW, "ruleType": "x"}, 400),
        ("rules/add", {**NEW, "action": "x"}, 400),
        ("rules/1/change", {"pattern": "text/plain", "action": "allow"}, 404),
        ("rules/1/remove", {}, 404),
        ("recipients/add", {"action": "allow", "pattern": "x"}, 400),
        ("recipients/remove", {"action": "allow", "pattern": "x@example.org"}, 400),
        ("recipients/other", {}, 400),
        ("rules/try", {}, 400),
        ("rules/try", {"content": HOSTILE}, 400),
    ],
)
async def test_a_form_that_is_wrong_changes_nothing(browser, admin, token, case):
    path, members, status = case
    await browser.open(f"/console/tokens/{token['id']}/rules")
    _, last = await changes(admin)
    refused = await browser.send(f"/console/tokens/{token['id']}/{path}", **members)

    assert refused.status_code == status
    assert "<script" not in refused.text
    assert (await changes(admin, after=last))[0] == []


@pytest.mark.parametrize(
    "path", ["rules/add", "rules/1/change", "rules/1/remove", "recipients/add", "rules/try"]
)
async def test_each_form_needs_the_token_of_its_session(browser, admin, token, path):
    _, last = await changes(admin)
    form = {**NEW, "form_token": "x"}
    answer = await browser.send(f"/console/tokens/{token['id']}/{path}", **form)

    assert answer.status_code == 403
    assert (await changes(admin, after=last))[0] == []


async def test_many_rules_are_paged(browser, admin, token):
    many = [{**NEW, "pattern": f"text/x{n}"} for n in range(120)]
    path = f"/api/access-tokens/{token['id']}"
    await admin.put(f"{path}/collab-rules", json={"rules": many})
    rules = {"block": [f"x{n}@example.org" for n in range(60)]}
    await admin.patch(path, json={"settings": {"recipientRules": rules}})
    page = await browser.open(f"/console/tokens/{token['id']}/rules")

    assert page.text.count("<summary>Change rule") == 50
    assert "more: <code>access-gateway recipient" in page.text
    counts = []
    while further := re.search(r'href="([^"]*)">Further rules', page.text):
        page = await browser.open(html.unescape(further[1]))
        counts.append(page.text.count("<summary>Change rule"))
    assert counts == [50, 20]


async def test_a_token_is_found(browser, token):
    for query in ("", "?q=rep", f"?q={token['id']}"):
        page = await browser.open(f"/console/rules{query}")
        assert f'href="/console/tokens/{token["id"]}/rules"' in page.text
