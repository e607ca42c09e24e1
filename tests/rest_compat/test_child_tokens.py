"""A holder makes narrower tokens from its own, by REST and by GraphQL."""

import uuid

import pytest

from gateway.store.tables import AccessToken

CHILDREN = "/api/access/token/children"
MESSAGES = "/api/access/email/messages"
PARENT = {
    "allowChildren": True,
    "visibleEmailFields": ["subject", "from", "to", "body"],
    "recipientRules": {"allow": ["@work.example"]},
    "timeframePastDays": 30,
    "quota": {"perHour": 500},
}
CREATE = """mutation ($input: CreateChildTokenInput!) {
  createChildToken(input: $input) { id name settings token expiresAt }
}"""


@pytest.fixture
async def parent(world):
    return await world.token(PARENT)


@pytest.fixture
async def holder(world, parent):
    async with world.client(parent) as client:
        yield client


async def create(client, **members):
    response = await client.post(CHILDREN, json={"name": "sub-task", **members})
    assert response.status_code == 201, response.text
    return response.json()


async def id_of(client):
    return (await client.get("/api/access/token")).json()["id"]


async def test_a_child_has_the_settings_of_its_parent_unless_they_are_narrowed(world, holder):
    child = await create(holder, settings={"visibleEmailFields": ["subject"]}, quota={"perDay": 9})
    own = (await holder.get("/api/access/token")).json()

    assert set(child) == {
        *("id", "name", "keyId", "createdAt", "expiresAt", "lastUsedAt", "settings", "token")
    }
    assert child["settings"] == {
        **own["settings"],
        "visibleEmailFields": ["subject"],
        "allowChildren": False,
        "quota": {"perHour": 500, "perDay": 9},
    }
    async with world.client(child["token"]) as client:
        shown = (await client.get("/api/access/token")).json()
        listing = (await client.get(MESSAGES)).json()
    assert shown["settings"] == child["settings"]
    assert (shown["id"], shown["name"]) == (child["id"], "sub-task")
    assert shown["connections"] == own["connections"]
    assert [mail["body"] for mail in listing["emails"]] == [None] * len(listing["emails"])
    assert listing["accessInfo"].endswith(
        "A child token, which never allows more than the token that it was made from."
    )
    listed = (await holder.get(CHILDREN)).json()["children"]
    assert [{**row, "lastUsedAt": None} for row in listed] == [
        {name: value for name, value in child.items() if name != "token"}
    ]


WIDER = [
    ({"settings": {"visibleEmailFields": ["all"]}}, ["settings.visibleEmailFields"]),
    ({"settings": {"visibleEmailFields": None}}, ["settings.visibleEmailFields"]),
    ({"settings": {"timeframePastDays": 31}}, ["settings.timeframePastDays"]),
    ({"settings": {"timeframePastDays": None}}, ["settings.timeframePastDays"]),
    ({"settings": {"recipientRules": {"allow": ["*"]}}}, ["settings.recipientRules"]),
    ({"settings": {"collabAllowAllDefault": True}}, ["settings.collabAllowAllDefault"]),
    ({"settings": {"maskMode": "basic"}}, ["settings.maskMode"]),
    ({"settings": {"quota": {"perHour": 501}}}, ["settings.quota"]),
    ({"quota": {"perHour": 501}}, ["quota"]),
    ({"expiresAt": "2099-01-01T00:00:00Z"}, ["expiresAt"]),
    (
        {"settings": {"calendarAccessEnabled": True, "maskMode": "basic"}},
        ["settings.calendarAccessEnabled", "settings.maskMode"],
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("members", "fields"), WIDER, ids=lambda value: str(value)[:60])
async def test_a_wider_child_is_refused_by_the_name_of_the_member(world, holder, members, fields):
    token_id = await id_of(holder)
    end = {"expiresAt": "2098-01-01T00:00:00Z"}
    await world.admin.patch(f"/api/access-tokens/{token_id}", json=end)
    response = await holder.post(CHILDREN, json={"name": "c", **members})
    body = response.json()

    assert (response.status_code, body["error"]) == (403, "ACCESS_DENIED")
    assert [detail["field"] for detail in body["details"]] == fields
    assert all(field in body["message"] for field in fields)
    graphql = await holder.post(
        "/graphql", json={"query": CREATE, "variables": {"input": {"name": "c", **members}}}
    )
    (error,) = graphql.json()["errors"]
    assert error["extensions"]["code"] == "ACCESS_DENIED"
    assert error["extensions"]["details"] == body["details"]
    assert (await holder.get(CHILDREN)).json() == {"children": []}


@pytest.mark.parametrize(
    ("members", "fields"),
    [
        ({"settings": {"unknown": 1}}, ["settings.unknown"]),
        ({"settings": {"maskMode": "none"}}, ["settings.maskMode"]),
        ({"name": " "}, ["name"]),
        ({"name": "x" * 101}, ["name"]),
        ({"settings": []}, ["settings"]),
        ({"quota": {"perHour": -1}}, ["settings.quota"]),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, ["expiresAt"]),
    ],
    ids=["unknown setting", "bad word", "blank", "long", "no object", "quota", "ended"],
)
async def test_invalid_members_are_named(holder, members, fields):
    response = await holder.post(CHILDREN, json={"name": "c", **members})
    body = response.json()

    assert (response.status_code, body["error"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in body["details"]] == fields


@pytest.mark.parametrize("settings", [{}, {"allowChildren": False}])
async def test_a_token_without_the_setting_has_no_children(world, settings):
    async with world.client(await world.token(settings)) as client:
        response = await client.post(CHILDREN, json={"wrong": "body"})
        graphql = await client.post(
            "/graphql", json={"query": CREATE, "variables": {"input": {"name": "c"}}}
        )

    body = response.json()
    assert (response.status_code, body["error"]) == (403, "ACCESS_DENIED")
    assert body["message"] == "This token may not create child tokens: allowChildren is false."
    (error,) = graphql.json()["errors"]
    assert (error["extensions"]["code"], error["message"]) == ("ACCESS_DENIED", body["message"])


async def test_the_door_makes_no_difference(world, holder):
    response = await holder.post(
        "/graphql",
        json={
            "query": CREATE,
            "variables": {
                "input": {"name": "c", "quota": {"perDay": 5}, "settings": {"maskMode": "strict"}}
            },
        },
    )
    child = response.json()["data"]["createChildToken"]

    assert child["settings"]["quota"] == {"perHour": 500, "perDay": 5}
    async with world.client(child["token"]) as client:
        assert (await client.get(MESSAGES)).status_code == 200
    revoked = await holder.post(
        "/graphql",
        json={"query": f"mutation {{ revokeChildToken(childId: {child['id']}) {{ id }} }}"},
    )
    assert revoked.json() == {"data": {"revokeChildToken": {"id": child["id"]}}}
    async with world.client(child["token"]) as client:
        assert (await client.get(MESSAGES)).status_code == 401


async def test_a_revoked_child_is_gone_with_its_descendants(world, holder):
    child = await create(holder, settings={"allowChildren": True})
    async with world.client(child["token"]) as client:
        grandchild = await create(client)
    assert (await holder.delete(f"{CHILDREN}/{grandchild['id']}")).status_code == 404

    assert (await holder.delete(f"{CHILDREN}/{child['id']}")).status_code == 204
    for token in (child, grandchild):
        async with world.client(token["token"]) as client:
            response = await client.get(MESSAGES)
        assert (response.status_code, response.json()["reason"]) == (401, "REVOKED")
    again = await holder.delete(f"{CHILDREN}/{child['id']}")
    assert (again.status_code, again.json()["error"]) == (404, "TOKEN_NOT_FOUND")
    assert (await holder.get(CHILDREN)).json() == {"children": []}


async def test_a_child_of_another_token_is_not_there(world, holder):
    async with world.client(await world.token({"allowChildren": True})) as other:
        child = await create(other)

    strange = await holder.delete(f"{CHILDREN}/{child['id']}")
    unknown = await holder.delete(f"{CHILDREN}/999999")
    assert strange.status_code == unknown.status_code == 404
    assert {**strange.json(), "requestId": ""} == {**unknown.json(), "requestId": ""}


@pytest.mark.slow
async def test_three_generations_of_children_and_no_more(world, holder):
    client, made = holder, []
    for _ in range(2):
        made.append(await create(client, settings={"allowChildren": True}))
        client = world.client(made[-1]["token"])
    last = await client.post(CHILDREN, json={"name": "c", "settings": {"allowChildren": True}})
    assert last.json()["details"][0]["field"] == "settings.allowChildren"
    third = await create(client)
    # An operator may set it, in vain.
    await world.admin.patch(
        f"/api/access-tokens/{third['id']}", json={"settings": {"allowChildren": True}}
    )
    async with world.client(third["token"]) as deepest:
        response = await deepest.post(CHILDREN, json={"name": "c"})

    assert (response.status_code, response.json()["error"]) == (403, "ACCESS_DENIED")
    assert "most ancestors" in response.json()["message"]


@pytest.mark.slow
async def test_a_token_has_at_most_100_living_children(world, holder):
    token_id = await id_of(holder)
    child = await create(holder)
    database = world.gateway.services.database
    async with database.writing() as session:
        for number in range(99):
            session.add(
                AccessToken(
                    name="c",
                    key_id="k",
                    digest=number.to_bytes(32, "big"),
                    operator_id=world.operator_id,
                    parent_id=token_id,
                    settings={},
                    created_at=0,
                )
            )

    response = await holder.post(CHILDREN, json={"name": "one more"})
    assert (response.status_code, response.json()["error"]) == (422, "TOKEN_LIMIT")
    assert len((await holder.get(CHILDREN)).json()["children"]) == 100
    await holder.delete(f"{CHILDREN}/{child['id']}")
    await create(holder)


async def test_a_retry_with_the_same_key_makes_no_second_child(holder):
    key = {"Idempotency-Key": str(uuid.uuid4())}
    first, second = [await holder.post(CHILDREN, json={"name": "c"}, headers=key) for _ in range(2)]

    assert first.status_code == second.status_code == 201
    assert second.content == first.content
    assert second.headers["Idempotent-Replayed"] == "true"
    assert len((await holder.get(CHILDREN)).json()["children"]) == 1
    reused = await holder.post(CHILDREN, json={"name": "d"}, headers=key)
    assert reused.json()["error"] == "IDEMPOTENCY_KEY_REUSED"


async def test_a_narrowed_parent_narrows_the_next_send_of_its_child(world, holder):
    child = await create(holder, settings={"recipientRules": {"allow": ["bo@work.example"]}})
    written = {"to": [{"email": "bo@work.example"}], "subject": "s", "body": "b"}
    key = {"Idempotency-Key": str(uuid.uuid4())}
    async with world.client(child["token"]) as client:
        sent = await client.post(f"{MESSAGES}/send", json=written, headers=key)
        assert sent.status_code == 200, sent.text
        token_id = await id_of(holder)
        narrower = {"settings": {"recipientRules": {"allow": []}}}
        await world.admin.patch(f"/api/access-tokens/{token_id}", json=narrower)
        refused = await client.post(f"{MESSAGES}/send", json=written)

    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")


async def test_calls_of_children_use_up_the_quota_of_the_parent(world):
    async with world.client(await world.token({**PARENT, "quota": {"perHour": 6}})) as holder:
        first, second = await create(holder), await create(holder)
        statuses = []
        for child in (first, second, first, second, first):
            async with world.client(child["token"]) as client:
                statuses.append((await client.get(f"{MESSAGES}?limit=1")).status_code)
        own = await holder.get(f"{MESSAGES}?limit=1")

    assert statuses == [200, 200, 200, 200, 429]
    assert own.status_code == 429


async def test_decisions_name_the_child_and_its_parent(world, holder):
    token_id = await id_of(holder)
    child = await create(holder)
    async with world.client(child["token"]) as client:
        await client.get(MESSAGES)
    await holder.delete(f"{CHILDREN}/{child['id']}")
    services = world.gateway.services
    await services.decisions.flush()
    listed = (await world.admin.get("/api/decisions", params={"limit": 100})).json()["decisions"]

    rows = [
        (row["operation"], row["tokenId"], row["parentId"], row["actor"], row["door"])
        for row in listed
        if row["operation"] and token_id in {row["tokenId"], row["parentId"]}
    ]
    actor = f"token {token_id}"
    assert sorted(
        row for row in rows if row[0] not in {"accessToken", "createToken"} or row[3] == actor
    ) == [
        ("createChildToken", token_id, None, None, "rest"),
        ("createToken", child["id"], token_id, actor, "rest"),
        ("emails", child["id"], token_id, None, "rest"),
        ("revokeChildToken", token_id, None, None, "rest"),
        ("revokeToken", child["id"], token_id, actor, "rest"),
    ]


async def test_explain_names_the_level_that_refuses(world, holder):
    token_id = await id_of(holder)
    child = await create(holder, settings={"allowedEmailOperations": ["search_emails"]})
    path = f"/api/access-tokens/{child['id']}/explain"

    async def explained(target):
        return (await world.admin.post(path, json={"method": "GET", "path": target})).json()

    own = await explained(f"{MESSAGES}/{world.id('lease')}")
    assert (own["outcome"], own["refusedBy"]) == ("refused", child["id"])
    assert own["change"]["settings"] == {"allowedEmailOperations": ["search_emails", "view_email"]}
    above = await explained("/api/access/calendar/events")
    assert (above["error"], above["refusedBy"], above["change"]) == (
        "CALENDAR_NOT_ENABLED",
        token_id,
        None,
    )
    assert str(token_id) in above["unchangeable"]
    allowed = await explained(MESSAGES)
    assert (allowed["outcome"], allowed["refusedBy"]) == ("allowed", None)


async def test_explaining_a_creation_creates_nothing(world, holder):
    token_id = await id_of(holder)
    path = f"/api/access-tokens/{token_id}/explain"
    call = {"method": "POST", "path": CHILDREN, "body": {"name": "c"}}
    allowed = (await world.admin.post(path, json=call)).json()
    await world.admin.patch(
        f"/api/access-tokens/{token_id}", json={"settings": {"allowChildren": False}}
    )
    refused = (await world.admin.post(path, json=call)).json()

    assert allowed["outcome"] == "allowed"
    assert (refused["error"], refused["change"]["settings"]) == (
        "ACCESS_DENIED",
        {"allowChildren": True},
    )
    assert (await holder.get(CHILDREN)).json() == {"children": []}


@pytest.mark.parametrize("header", [{"Prefer": "dry-run"}, {"If-Effect": "x"}], ids=str)
async def test_there_is_no_dry_run(holder, header):
    child = await create(holder)
    made = await holder.post(CHILDREN, json={"name": "c"}, headers=header)
    gone = await holder.delete(f"{CHILDREN}/{child['id']}", headers=header)

    for response in (made, gone):
        assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")
    listed = (await holder.get(CHILDREN)).json()["children"]
    assert [row["id"] for row in listed] == [child["id"]]


async def test_operators_see_the_tree(world, holder):
    token_id = await id_of(holder)
    child = await create(holder)
    shown = (await world.admin.get(f"/api/access-tokens/{child['id']}")).json()

    assert shown["parentId"] == token_id
    assert shown["settings"] == child["settings"]
    assert (
        shown["resourceIds"]
        == (await world.admin.get(f"/api/access-tokens/{token_id}")).json()["resourceIds"]
    )
    await world.admin.delete(f"/api/access-tokens/{token_id}")
    assert (await world.admin.get(f"/api/access-tokens/{child['id']}")).json()[
        "status"
    ] == "revoked"
