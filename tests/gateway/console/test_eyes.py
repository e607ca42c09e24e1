"""Job 11: what a token sees, and the explorer with a short-lived child of it."""

import re
import time

import graphql
import pytest
from console_rows import changes

from gateway.explain import eyes

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
MASKED = {"emailAccessEnabled": True, "visibleEmailFields": ["subject"]}


async def change(admin, token, settings):
    await admin.patch(f"/api/access-tokens/{token['id']}", json={"settings": settings})


async def test_its_shape_is_that_of_the_token(browser, admin, gateway, token):
    await change(admin, token, MASKED)
    headers = {"Authorization": f"Bearer {token['token']}"}
    sdl = (await admin.get("/api/access/schema.graphql", headers=headers)).text
    seen = await eyes.sight(gateway.services, token["id"])
    page = await browser.open(f"/console/tokens/{token['id']}/eyes")

    assert page.status_code == 200
    assert "accessToken" in seen.reads
    assert "sendEmail" not in seen.writes
    for name in (*seen.reads, *seen.writes):
        assert f"<code>{name}</code>" in page.text
    schema = graphql.build_schema(sdl)
    roots = (schema.query_type, schema.mutation_type)
    names = [name for root in roots if root for name in root.fields]
    assert sorted(names) == sorted([*seen.reads, *seen.writes])
    assert any("Email.body" in fields for _, fields in seen.masked)


async def test_a_child_is_made_that_ends_soon_and_may_do_no_more(browser, submit, admin, token):
    await change(admin, token, MASKED)
    path = f"/console/tokens/{token['id']}/eyes"
    await browser.open(path)
    _, last = await changes(admin)
    opened = await submit(path)
    rows, _ = await changes(admin, after=last)

    (text,) = re.findall(r'href="/explorer/open\.html#token=(agw_\w+)"', opened.text)
    assert opened.text.count(text) == 1
    assert text != token["token"]
    (row,) = rows
    assert (row["operation"], row["actor"], row["door"]) == ("createToken", "admin", "admin")
    child = (await admin.get(f"/api/access-tokens/{row['resourceId']}")).json()
    assert child["parentId"] == token["id"]
    assert child["name"] == "Eyes of reports"
    stored = (await admin.get(f"/api/access-tokens/{token['id']}")).json()["settings"]
    differing = {name for name in stored if child["settings"][name] != stored[name]}
    assert differing <= {"collabAllowAllDefault", "allowChildren"}
    headers = {"Authorization": f"Bearer {text}"}
    assert (await admin.get("/api/access/token", headers=headers)).status_code == 200
    ends = time.strptime(child["expiresAt"][:19], "%Y-%m-%dT%H:%M:%S")
    left = time.mktime(ends) - time.mktime(time.gmtime())
    assert 0 < left <= eyes.LIFETIME_MS / 1000 + 1
    assert text not in (await browser.open(path)).text


async def test_a_revoked_token_has_no_child(browser, submit, admin, token):
    path = f"/console/tokens/{token['id']}/eyes"
    await browser.open(path)
    await admin.delete(f"/api/access-tokens/{token['id']}")
    _, last = await changes(admin)
    refused = await submit(path)

    assert refused.status_code == 412
    assert eyes.NOT_ACTIVE in refused.text
    assert (await changes(admin, after=last))[0] == []


async def test_the_form_needs_the_token_of_its_session(browser, admin, token):
    _, last = await changes(admin)
    answer = await browser.send(f"/console/tokens/{token['id']}/eyes", form_token="x")

    assert answer.status_code == 403
    assert (await changes(admin, after=last))[0] == []
