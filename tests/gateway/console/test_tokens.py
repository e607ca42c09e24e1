"""Jobs 4, 5 and 6: tokens are made, changed and ended as by the management API."""

import re

import pytest
from console_rows import alike, changes

from gateway.console.jobs import change_token, tokens

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]


async def test_a_token_is_made_as_by_the_management_api(browser, submit, admin, operator, resource):
    await browser.open(f"/console/tokens/new/{operator}")
    _, last = await changes(admin)
    made = await submit(f"/console/tokens/new/{operator}", name="Report <b>", preset="drafts")
    rows, last = await changes(admin, after=last)
    new = {"name": "R", "operatorId": operator, "resourceIds": [resource], "preset": "drafts"}
    await admin.post("/api/access-tokens", json=new)
    of_api, _ = await changes(admin, after=last)

    assert made.status_code == 200
    assert alike(rows) == alike(of_api) != []
    (token,) = set(re.findall(r"agw_\w+", made.text))
    assert "Report &lt;b&gt;" in made.text
    assert made.text.count(token) == 5  # itself, and in each line
    listed = (await admin.get("/api/access-tokens")).json()["tokens"]
    by_console, by_api = listed
    assert by_console["settings"] == by_api["settings"]
    assert by_console["expiresAt"] is not None
    async with type(browser.client)(
        transport=browser.client._transport, base_url="http://gateway.test"
    ) as client:
        headers = {"Authorization": f"Bearer {token}"}
        assert (await client.get("/api/access/token", headers=headers)).status_code == 200
    again = await browser.open(f"/console/tokens/{by_console['id']}")
    assert token not in again.text


@pytest.mark.usefixtures("resource")
@pytest.mark.parametrize("preset", list(tokens._offered()))
async def test_every_preset_makes_a_token(browser, submit, admin, operator, preset):
    await browser.open(f"/console/tokens/new/{operator}")
    made = await submit(
        f"/console/tokens/new/{operator}", name="x", preset=preset, end=tokens.NEVER
    )

    assert made.status_code == 200
    (token,) = (await admin.get("/api/access-tokens")).json()["tokens"]
    assert token["expiresAt"] is None
    settings = tokens._offered()[preset].settings
    assert {name: token["settings"][name] for name in settings} == dict(settings)


@pytest.mark.parametrize(
    "case",
    [
        ({"preset": "owner"}, "preset must be one of those on the page"),
        ({"end": "3"}, "end must be one of those on the page"),
        ({"end": "now"}, "end must be a time"),
        ({"name": " "}, "name must have at least 1 character"),
        ({"offered": ["1"], "account": []}, "accounts must be chosen"),
        ({"offered": ["x"]}, "offered must be a whole number"),
    ],
)
async def test_a_form_that_is_wrong_makes_no_token(browser, submit, admin, new_token, case):
    operator, (changed, problem) = new_token["operatorId"], case
    await browser.open(f"/console/tokens/new/{operator}")
    refused = await submit(f"/console/tokens/new/{operator}", **{"name": "x", **changed})

    assert refused.status_code == 400
    assert problem in refused.text
    assert (await admin.get("/api/access-tokens")).json()["tokens"] == []


async def test_a_person_is_added_with_a_resource_of_their_own(browser, submit, admin):
    await browser.open("/console/tokens/new")
    _, last = await changes(admin)
    members = {"displayName": "Ada", "email": "ada@example.org"}
    added = await submit("/console/people", **members)
    rows, last = await changes(admin, after=last)
    made = (await admin.post("/api/operators", json=members)).json()
    await admin.post("/api/resources", json={"name": "x", "operatorIds": [made["id"]]})
    of_api, _ = await changes(admin, after=last)

    assert alike(rows) == alike(of_api) != []
    person = (await admin.get("/api/operators")).json()["operators"][0]
    assert added.headers["location"] == f"/console/tokens/new/{person['id']}"
    assert "What may it do?" in (await browser.open(added.headers["location"])).text


async def test_a_change_is_shown_before_it_is_saved(browser, submit, admin, token):
    await browser.open(f"/console/tokens/{token['id']}/change")
    shown = await submit(
        f"/console/tokens/{token['id']}/change", emailAccessEnabled="on", name="Mail"
    )
    assert '<p class="host bad">wider</p>' in shown.text
    assert "Mail: nothing." in shown.text
    assert "search emails" in shown.text
    before = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    assert before["settings"]["emailAccessEnabled"] is False
    _, last = await changes(admin)
    saved = await submit(f"/console/tokens/{token['id']}/save")
    rows, last = await changes(admin, after=last)
    change = {"settings": {"emailAccessEnabled": True}, "name": "Mail"}
    await admin.patch(f"/api/access-tokens/{token['id']}", json=change)
    of_api, _ = await changes(admin, after=last)

    assert saved.headers["location"] == f"/console/tokens/{token['id']}"
    assert [{**row, "policyRevision": 0} for row in alike(rows)] == [
        {**row, "policyRevision": 0} for row in alike(of_api)
    ]
    after = (await admin.get(f"/api/access-tokens/{token['id']}")).json()
    assert (after["name"], after["settings"]) == (
        "Mail",
        {**before["settings"], "emailAccessEnabled": True},
    )


DIRECTIONS = [
    ({"emailAccessEnabled": "on"}, "wider"),
    ({"expiresAt": "2030-01-01T00:00"}, "narrower"),
    ({"name": "other"}, "neither"),
    ({"emailAccessEnabled": "on", "expiresAt": "2030-01-01T00:00"}, "neither"),
    ({"timeframePastDays": "7"}, "narrower"),
    ({"recipientRules": '{"allow": ["@example.org"]}'}, "narrower"),
    ({"quota": '{"perMinute": 5}'}, "narrower"),
    ({"visibleEmailFields": ["subject"]}, "narrower"),
    ({"maskMode": "basic"}, "wider"),
]


@pytest.mark.parametrize(("changed", "direction"), DIRECTIONS)
async def test_a_change_is_wider_narrower_or_neither(browser, submit, token, changed, direction):
    await browser.open(f"/console/tokens/{token['id']}/change")
    shown = await submit(f"/console/tokens/{token['id']}/change", **changed)

    assert re.search(r'<p class="host \w*">(\w+)</p>', shown.text)[1] == direction


async def test_a_form_as_it_was_opened_changes_nothing(browser, submit, admin, operator, resource):
    """Every setting comes back as it is, whatever a preset sets."""
    for preset in tokens.PRESETS:
        new = {"name": "x", "operatorId": operator, "resourceIds": [resource], "preset": preset}
        token = (await admin.post("/api/access-tokens", json=new)).json()
        await browser.open(f"/console/tokens/{token['id']}/change")
        refused = await submit(f"/console/tokens/{token['id']}/change")
        assert refused.status_code == 400
        assert "The form changes nothing." in refused.text


async def test_the_form_has_every_setting():
    names = [field.name for fields in change_token._groups().values() for field in fields]

    assert sorted(names) == sorted(change_token.TokenSettings.__annotations__)


async def test_of_two_admins_the_second_saves_nothing_unseen(browser, submit, admin, token):
    path = f"/console/tokens/{token['id']}"
    form = await browser.open(f"{path}/change")
    await submit(f"{path}/change", emailAccessEnabled="on")
    shown = browser.page
    other = {"settings": {"calendarAccessEnabled": True}}
    await admin.patch(f"/api/access-tokens/{token['id']}", json=other)

    refused = await submit(f"{path}/save")
    assert refused.status_code == 412
    assert "Somebody changed this token meanwhile." in refused.text
    browser.page = form
    assert (await submit(f"{path}/change", emailAccessEnabled="on")).status_code == 412
    settings = (await admin.get(f"/api/access-tokens/{token['id']}")).json()["settings"]
    assert settings["emailAccessEnabled"] is False
    assert shown.status_code == 200


@pytest.mark.parametrize("end", tokens.ENDS)
async def test_a_token_is_ended_as_by_the_management_api(browser, submit, admin, new_token, end):
    first, second = [
        (await admin.post("/api/access-tokens", json=new_token)).json() for _ in range(2)
    ]
    await browser.open(f"/console/tokens/{first['id']}")
    _, last = await changes(admin)
    ended = await submit(f"/console/tokens/{first['id']}/end", end=end)
    rows, last = await changes(admin, after=last)
    after = (await admin.get(f"/api/access-tokens/{first['id']}")).json()
    path = f"/api/access-tokens/{second['id']}"
    if end == tokens.NOW:
        await admin.delete(path)
    else:
        await admin.patch(path, json={"expiresAt": after["expiresAt"]})
    of_api, _ = await changes(admin, after=last)

    assert ended.status_code == 303
    assert alike(rows) == alike(of_api) != []
    assert after["status"] == ("revoked" if end == tokens.NOW else "active")
    assert (after["expiresAt"] is None) == (end in {tokens.NOW, tokens.NEVER})


async def test_all_tokens_of_a_person_end_and_no_others(
    browser, submit, admin, new_token, operator
):
    other = (
        await admin.post("/api/operators", json={"email": "b@b.example", "displayName": "B"})
    ).json()
    new = {"name": "main", "operatorIds": [other["id"]]}
    theirs = (await admin.post("/api/resources", json=new)).json()["id"]
    stays = {"name": "x", "operatorId": other["id"], "resourceIds": [theirs]}
    bystander = (await admin.post("/api/access-tokens", json=stays)).json()
    ends = ["2030-01-01T00:00:00Z", None]
    mine = [
        (await admin.post("/api/access-tokens", json={**new_token, "expiresAt": end})).json()
        for end in ends
        for _ in range(2)
    ]
    page = await browser.open(f"/console/people/{operator}/tokens/end")
    assert page.text.count("reports") == 4
    _, last = await changes(admin)
    await submit(f"/console/people/{operator}/tokens/end", end="24")
    rows, last = await changes(admin, after=last)
    assert [row["resourceId"] for row in rows] == [str(token["id"]) for token in mine]
    await browser.open(f"/console/people/{operator}/tokens/end")
    await submit(f"/console/people/{operator}/tokens/end", end="168")
    rows, last = await changes(admin, after=last)
    assert rows == []  # nothing ends later than before
    await browser.open(f"/console/people/{operator}/tokens/end")
    ended = await submit(f"/console/people/{operator}/tokens/end", end="now")
    rows, last = await changes(admin, after=last)

    assert ended.headers["location"] == f"/console/people/{operator}"
    assert [(row["operation"], row["resourceId"]) for row in rows] == [
        ("revokeToken", str(token["id"])) for token in mine
    ]
    listed = (await admin.get("/api/access-tokens")).json()["tokens"]
    assert [token["id"] for token in listed if token["status"] == "active"] == [bystander["id"]]


async def test_a_token_is_found_by_name_number_and_person(browser, admin, new_token, operator):
    for name in ("Weekly report", "weekly mail", "other"):
        last = (await admin.post("/api/access-tokens", json={**new_token, "name": name})).json()
    found = await browser.open("/console/tokens?q=weekly")
    assert "Weekly report" in found.text
    assert "weekly mail" in found.text
    assert ">other<" not in found.text
    assert ">other<" in (await browser.open(f"/console/tokens?q={last['id']}")).text
    assert f"/console/people/{operator}" in (await browser.open("/console/tokens/end?q=Ada@")).text
    nothing = await browser.open("/console/tokens?q=%3Cscript%3E")
    assert "“<bdi>&lt;script&gt;</bdi>”" in nothing.text


@pytest.mark.parametrize(
    "path",
    [
        *("/console/tokens/999", "/console/tokens/999/change", "/console/people/nobody"),
        *("/console/tokens/new/nobody", "/console/tokens/99999999999999999999", "/console/nothing"),
    ],
)
async def test_what_does_not_exist_is_404(browser, path):
    page = await browser.open(path)

    assert page.status_code == 404
    assert page.headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("grace", [0, 3600])
async def test_a_token_is_rotated_as_by_the_management_api(browser, submit, admin, client, grace):
    first, second = [await made(admin) for _ in range(2)]
    await browser.open(f"/console/tokens/{first['id']}")
    _, last = await changes(admin)
    rotated = await submit(f"/console/tokens/{first['id']}/rotate", graceSeconds=str(grace))
    rows, last = await changes(admin, after=last)
    await admin.post(f"/api/access-tokens/{second['id']}/rotate", json={"graceSeconds": grace})
    of_api, _ = await changes(admin, after=last)

    assert alike(rows) == alike(of_api) != []
    (text,) = set(re.findall(r"agw_\w+", rotated.text))
    statuses = []
    for token in (text, first["token"]):
        headers = {"Authorization": f"Bearer {token}"}
        statuses.append((await client.get("/api/access/token", headers=headers)).status_code)
    assert statuses == [200, 200 if grace else 401]
    assert text not in (await browser.open(f"/console/tokens/{first['id']}")).text


async def test_a_revoked_token_gets_no_other_text(browser, admin):
    token = await made(admin)
    await browser.open(f"/console/tokens/{token['id']}")
    await admin.delete(f"/api/access-tokens/{token['id']}")
    refused = await browser.send(f"/console/tokens/{token['id']}/rotate", graceSeconds="0")

    assert refused.status_code == 400
    assert "agw_" not in refused.text


async def made(admin):
    """Make a token of a new person."""
    listed = (await admin.get("/api/operators")).json()["operators"]
    person = {"email": f"{len(listed)}@example.org", "displayName": "P"}
    operator = (await admin.post("/api/operators", json=person)).json()["id"]
    resource = {"name": "main", "operatorIds": [operator]}
    number = (await admin.post("/api/resources", json=resource)).json()["id"]
    new = {"name": "x", "operatorId": operator, "resourceIds": [number]}
    return (await admin.post("/api/access-tokens", json=new)).json()
