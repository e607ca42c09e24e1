"""One key is one effect, however the path, the query and the body are spelled, by both APIs."""

import asyncio
import json

import pytest
import world as worlds

EMAIL = "/api/access/email"
MESSAGE = {"to": [{"email": "bo@work.example"}], "subject": "Once", "body": "b"}
KEY = {"Idempotency-Key": "k"}
SEND = "mutation ($input: SendEmailInput!) { sendEmail(input: $input) { success emailId } }"


async def post(client, path, content=MESSAGE, **more):
    body = content if isinstance(content, str) else json.dumps(content)
    headers = {**KEY, "Content-Type": "application/json"}
    return await client.post(path, content=body, headers=headers, **more)


def replayed(response):
    return response.headers.get("idempotent-replayed")


def once(answers):
    """Return the body of *answers*: one ran, the others repeat it."""
    assert {answer.status_code for answer in answers} == {200}
    assert [replayed(answer) for answer in answers] == [None] + ["true"] * (len(answers) - 1)
    (body,) = {answer.content for answer in answers}
    return json.loads(body)


async def test_a_path_has_one_meaning_in_every_spelling(client, world):
    paths = [
        f"{EMAIL}/messages/send",
        f"{EMAIL}/messages/%73end",
        f"{EMAIL}/messages/%73%65%6E%64",
        "/api/access/%65mail/messages/send",
    ]

    once([await post(client, path) for path in paths])

    assert len(world.sent("provider-a")) == 1


async def test_spellings_at_the_same_time_send_once(client, world):
    paths = [f"{EMAIL}/messages/{word}" for word in ("send", "%73end", "s%65nd", "se%6Ed")]

    answers = await asyncio.gather(*(post(client, path) for path in paths))

    assert {answer.status_code for answer in answers} <= {200, 409}
    assert len(world.sent("provider-a")) == 1


async def test_an_id_has_one_meaning_in_every_spelling(client, world):
    message = world.id("lease")
    spellings = [
        message,
        message.replace(":", "%3A"),
        message.replace(":", "%3a"),
        message.replace("providerA:", "provider%41:"),
        message[:-1] + f"%{ord(message[-1]):02X}",
    ]

    answers = [
        await post(client, f"{EMAIL}/messages/{spelling}/reply", {"body": "b"})
        for spelling in spellings
    ]

    once(answers)
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize(
    "spelling",
    [
        '{"subject":"Once","body":"b","to":[{"email":"bo@work.example"}]}',
        ' {"to": [{"email": "bo@work.example"}], "subject": "\\u004fnce",  "body": "b"}',
        '{"to":[{"email":"bo@work.example","name":null}],"subject":"Once","body":"b","cc":null}',
    ],
    ids=["order", "blanks and escapes", "null for absent"],
)
async def test_a_body_has_one_meaning_in_every_spelling(client, world, spelling):
    answers = [await post(client, f"{EMAIL}/messages/send", body) for body in (MESSAGE, spelling)]

    once(answers)
    assert len(world.sent("provider-a")) == 1


async def test_the_query_counts_by_its_meaning(client, world):
    path = f"{EMAIL}/messages/send"
    answers = [await post(client, f"{path}{query}") for query in ("", "?", "?x=", "?utm=1&a=2")]

    once(answers)
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize("rest_first", [True, False], ids=["REST first", "GraphQL first"])
async def test_both_apis_share_a_key(client, world, rest_first):
    async def rest():
        return await post(client, f"{EMAIL}/messages/send")

    async def graphql():
        return await post(client, "/graphql", {"query": SEND, "variables": {"input": MESSAGE}})

    apis = (rest, graphql) if rest_first else (graphql, rest)
    first, second = [await api() for api in apis]

    by_rest, by_graphql = (first, second) if rest_first else (second, first)
    email_id = by_rest.json()["emailId"]
    assert (replayed(first), replayed(second)) == (None, "true")
    assert by_rest.status_code == by_graphql.status_code == 200
    assert by_graphql.json()["data"] == {"sendEmail": {"success": True, "emailId": email_id}}
    assert by_rest.json()["success"] is True
    assert len(world.sent("provider-a")) == 1


async def test_a_document_has_one_meaning_in_every_spelling(client, world):
    documents = [
        {"query": SEND, "variables": {"input": MESSAGE}},
        {
            "query": 'mutation Other { mine: sendEmail(input: {body: "b", subject: "Once",'
            ' to: [{email: "bo@work.example"}]}) { ok: success } }'
        },
    ]

    first, second = [await post(client, "/graphql", document) for document in documents]

    assert first.json()["data"]["sendEmail"]["success"] is True
    assert second.json()["data"] == {"mine": {"ok": True}}
    assert replayed(second) == "true"
    assert len(world.sent("provider-a")) == 1


async def test_other_arguments_under_the_key_are_a_conflict_in_both_apis(client, world):
    other = {**MESSAGE, "subject": "Twice"}
    await post(client, f"{EMAIL}/messages/send")
    world.forget_calls()

    by_rest = await post(client, f"{EMAIL}/messages/send", other)
    by_graphql = await post(client, "/graphql", {"query": SEND, "variables": {"input": other}})

    assert (by_rest.status_code, by_rest.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    extensions = by_graphql.json()["errors"][0]["extensions"]
    assert (by_graphql.status_code, extensions["code"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert world.calls() == []
    assert len(world.sent("provider-a")) == 1


async def test_an_error_is_shared_by_both_apis(client, world):
    reply = """mutation ($id: String!) {
      replyToEmail(emailId: $id, input: {body: "b"}) { success }
    }"""
    missing = "providerA:absent"
    first = await post(client, f"{EMAIL}/messages/{missing}/reply", {"body": "b"})
    world.forget_calls()
    second = await post(client, "/graphql", {"query": reply, "variables": {"id": missing}})

    (error,) = second.json()["errors"]
    assert (first.status_code, first.json()["error"]) == (404, "NOT_FOUND")
    assert (error["message"], error["extensions"]["code"]) == (first.json()["message"], "NOT_FOUND")
    assert second.json()["data"] == {"replyToEmail": None}
    assert replayed(second) == "true"
    assert world.calls() == []


async def test_a_key_of_another_message_is_its_own(client, world):
    paths = [f"{EMAIL}/messages/{world.id(name)}/reply" for name in ("lease", "lunch")]

    answers = [await post(client, path, {"body": "b"}) for path in paths]

    assert [replayed(answer) for answer in answers] == [None, None]
    assert len(world.sent("provider-a")) == 2


async def test_a_rotated_token_is_the_same_token(client, world):
    path = f"{EMAIL}/messages/send"
    first = await post(client, path)
    own = (await client.get("/api/access/token")).json()["id"]
    rotated = (await world.admin.post(f"/api/access-tokens/{own}/rotate", json={})).json()["token"]
    async with world.client(rotated) as later:
        second = await post(later, path)

    once([first, second])
    assert (await post(client, path)).status_code == 401
    assert len(world.sent("provider-a")) == 1


async def test_a_replay_after_a_change_of_policy_has_the_ids_alone(client, world):
    path = f"{EMAIL}/messages/send"
    first = (await post(client, path)).json()
    own = (await client.get("/api/access/token")).json()["id"]
    changes = [{"settings": {"visibleEmailFields": ["subject"]}}, {"resourceIds": [worlds.EMPTY]}]
    await world.admin.patch(f"/api/access-tokens/{own}", json=changes[0])
    second = await post(client, path)
    await world.admin.patch(f"/api/access-tokens/{own}", json=changes[1])
    third = await post(client, path)

    assert second.json() == first
    assert (second.status_code, replayed(second)) == (200, "true")
    assert (third.status_code, third.json()["error"]) == (422, "NO_EMAIL_PROVIDER")
    assert len(world.sent("provider-a")) == 1


async def test_an_upload_counts_the_meaning_of_its_query(content):
    folder, token = content.id("boats"), await content.token()
    names = ["s%C3%B6lo.txt", "s%c3%b6lo%2Etxt"]
    queries = [
        f"fileName={names[0]}&folderId={folder}&conflictBehavior=rename",
        f"conflictBehavior=rename&folderId={folder.replace(':', '%3A')}&fileName={names[1]}",
        f"fileName={names[0]}&folderId={folder}&conflict%42ehavior=rename&ignored=1",
    ]
    async with content.client(token) as client:
        for mount in ("", "/internal"):
            for query in queries:
                path = f"{mount}{content.prefix}/files/upload?{query}"
                answer = await client.post(path, content=b"x", headers=KEY)
                assert answer.status_code in {200, 404}, answer.text
        other = f"{content.prefix}/files/upload?{queries[0].replace('.txt', '.md')}"
        reused = await client.post(other, content=b"x", headers=KEY)
        listed = await client.get(
            f"{content.prefix}/files", params={"folderId": folder, "q": "sölo"}
        )

    assert [file["name"] for file in listed.json()["files"]] == ["sölo.txt"]
    assert (reused.status_code, reused.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")


async def test_letter_case_of_a_list_id_is_no_second_effect(content):
    path, token = content.path("berths", 0), await content.token()
    body = {"json": {"fields": {"Title": "Mine", "Length": 7, "Paid": True}}, "headers": KEY}
    first = await content.call("POST", path, token, **body)
    upper = content.id("berths").rpartition(":")[2]
    content.forget_calls()

    second = await content.call("POST", path.replace(upper, upper.upper()), token, **body)

    assert upper.upper() != upper
    assert first.status_code == 201
    assert (second.status_code, second.json()["error"]) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert content.calls() == []
