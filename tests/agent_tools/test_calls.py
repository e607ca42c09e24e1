"""A tool call is the REST call of its document: results, gates, refusals, keys and the log."""

import json

import pytest
from agent_client import Agent, data_of, text_of
from drafts import draft_id, leave

MESSAGES = "/api/access/email/messages"
NEW = {"action": "new", "to": ["anna@work.example"], "subject": "Hi", "body": "Hello."}


@pytest.fixture
def agent(client):
    return Agent(client)


async def test_mail_is_found_in_brief_and_read_in_full(world, client, agent):
    data, line = await agent.read("find_mail", q="lease")

    assert data == {
        "emails": [
            {
                "id": world.id("lease"),
                "threadId": world.thread_id("lease"),
                "subject": "Lease for the flat",
                "from": {"email": "ana@home.example", "name": "Ana Müller"},
                "bodyPreview": "The lease is attached. Please sign it.",
                "receivedAt": "2026-11-19T09:00:00Z",
                "isRead": False,
                "hasAttachments": True,
            }
        ]
    }
    assert line == "shown 1 of 1; no more"
    message, line = await agent.read("read_mail", id=world.id("lease"))
    assert message["body"] == "The lease is attached. Please sign it."
    assert message["attachments"][0]["name"] == "lease.pdf"
    assert line == ""
    thread, line = await agent.read("read_mail", threadId=world.thread_id("lease"))
    assert [each["id"] for each in thread["messages"]] == [world.id("lease")]
    assert line == "shown 1 of 1; no more"


async def test_only_the_named_fields_are_shown(agent):
    data, line = await agent.read("find_mail", fields=["subject"], limit=2)

    assert [set(each) for each in data["emails"]] == [{"id", "subject"}] * 2
    cursor = line.partition("cursor: ")[2]
    rest, line = await agent.read("find_mail", fields=["subject"], limit=50, cursor=cursor)
    assert line == "shown 3 of 5; no more"
    ids = [each["id"] for each in (*data["emails"], *rest["emails"])]
    assert len(set(ids)) == 5


async def test_a_person_is_found_by_name_and_by_address(agent):
    people, line = await agent.read("find_person", name="müller")
    contact, _ = await agent.read("find_person", email="ana@home.example")

    assert people == {
        "people": [
            {
                "email": "ana@home.example",
                "name": "Ana Müller",
                "lastContact": "2026-11-19T09:00:00Z",
                "account": "me@provider-a.example",
                "sources": ["correspondence"],
            }
        ],
        "outcome": "one",
    }
    assert line == "shown 1 of 1; no more"
    assert contact["lastContact"]["email"]["subject"] == "Lease for the flat"


async def test_a_mail_is_sent_once_per_key_by_whichever_interface(world, client, agent):
    first = await agent.call("send_mail", **NEW, key="rent")
    again = await agent.call("send_mail", **NEW, key="rent")
    body = {
        "to": [{"email": "anna@work.example"}],
        "subject": "Hi",
        "body": "Hello.",
        "bodyType": "text",
    }
    by_rest = await client.post(f"{MESSAGES}/send", json=body, headers={"Idempotency-Key": "rent"})
    other = await agent.call("send_mail", **{**NEW, "subject": "Ho"}, key="rent")

    assert data_of(first) == data_of(again)
    assert "_meta" in first
    assert "access-gateway/outsideText" not in first["_meta"]
    assert by_rest.json()["emailId"] == json.loads(text_of(first))["emailId"]
    assert len(world.sent("provider-a")) == 1
    assert text_of(other).splitlines() == [
        "IDEMPOTENCY_KEY_REUSED",
        "This Idempotency-Key was used with another request.",
        "Use another key for another call.",
    ]


async def test_a_reply_and_a_forward_go_where_they_should(world, agent):
    await agent.call("send_mail", action="reply_all", id=world.id("lease"), body="Yes.")
    forwarded = {"action": "forward", "id": world.id("lease"), "to": ["bo@work.example"]}
    await agent.call("send_mail", **forwarded, body="See below.")

    forward, reply = (mail.raw.decode() for mail in world.sent("provider-a"))
    assert "ana@home.example" in reply
    assert "Cc: bo@work.example" in reply
    assert "To: bo@work.example" in forward
    assert "lease.pdf" in forward


@pytest.mark.caller(sendMode="draft")
async def test_a_token_that_drafts_sends_nothing(world, agent):
    made = await agent.call("draft_mail", **NEW)
    wrong = await agent.call("send_mail", **NEW)

    assert json.loads(text_of(made))["held"] == "draft"
    assert world.sent("provider-a") == []
    assert wrong["isError"] is True
    assert text_of(wrong) == (
        "OPERATION_NOT_ALLOWED\nThis token leaves mail as drafts.\nUse draft_mail."
    )


async def test_mail_is_filed_and_trashed(world, client, agent):
    await agent.call("file_mail", id=world.id("lease"), read=True)
    read = (await client.get(f"{MESSAGES}/{world.id('lease')}")).json()
    await agent.call("file_mail", id=world.id("lease"), trash=True)

    assert read["isRead"] is True
    assert world.stored("lease").folder == "trash"


@pytest.mark.caller(allowedEmailOperations=["read_only"])
async def test_a_missing_right_is_a_result_that_says_who_can_allow_it(world, client, agent):
    world.forget_calls()
    response = await agent.send("tools/call", {"name": "send_mail", "arguments": {"body": 1}})
    labels = await agent.call("file_mail", id=world.id("lease"), addLabels=["Home"])

    result, decision = response.json()["result"], response.headers["x-request-id"]
    assert result["isError"] is True
    assert text_of(result).splitlines() == [
        "OPERATION_NOT_ALLOWED",
        "This token does not allow send_email.",
        f"The operator would have to allow send_email; decision {decision}.",
    ]
    assert text_of(labels).splitlines()[1] == "This token does not allow apply_labels."
    assert world.calls() == []


async def test_wrong_arguments_are_all_named(world, agent):
    world.forget_calls()
    wrong = await agent.call(
        "send_mail", action="new", to="anna@work.example", subject="a", urgent=1
    )
    near = await agent.call("find_mail", form="ana", limit="x")
    types = await agent.call("find_mail", limit="x", after="yesterday")
    field = await agent.call("find_mail", fields=["subjekt"])
    action = await agent.call("send_mail", action="replay")

    assert text_of(wrong).startswith("VALIDATION_ERROR\nurgent is not known")
    assert "form is not known, did you mean 'from'? (known: 'q'," in text_of(near)
    assert text_of(types).splitlines()[1] == (
        "after must be an ISO 8601 time. limit must be an integer."
    )
    assert "fields has 'subjekt', which is not known, did you mean 'subject'?" in text_of(field)
    assert text_of(action).splitlines()[1] == (
        "action must be one of new, reply, reply_all, forward, draft."
    )
    assert world.calls() == []


async def test_an_unknown_tool_and_an_unknown_id_are_results(agent):
    tool = await agent.call("find_mails")
    mail = await agent.call("read_mail", id="providerA:0000000000000000")

    assert text_of(tool).splitlines()[:2] == [
        "NOT_FOUND",
        "There is no tool find_mails. Did you mean find_mail?",
    ]
    assert text_of(mail).startswith("NOT_FOUND\nNo email with this id.\nFind the id again")


@pytest.mark.caller(quota={"perMinute": 2})
async def test_calls_count_as_those_of_rest_do(client, agent):
    await client.get(MESSAGES)
    await agent.call("find_mail")
    refused = await agent.call("find_mail")
    listed = await agent.send("tools/list")

    assert text_of(refused).startswith("RATE_LIMITED\n")
    assert "Wait " in text_of(refused)
    assert (listed.status_code, listed.json()["error"]["code"]) == (429, -32000)
    assert int(listed.headers["retry-after"]) > 0


async def test_the_decision_log_names_the_way_in(world, agent):
    await agent.call("find_mail", limit=1)
    await agent.call("find_mail", form="x")
    await agent.send("tools/list")

    logged = (await world.admin.get("/api/decisions", params={"limit": 3})).json()["decisions"]
    assert [
        (row["door"], row["operation"], row["outcome"], row["code"], row["status"])
        for row in reversed(logged)
    ] == [
        ("agent", "emails", "allowed", None, 200),
        ("agent", "emails", "refused", "VALIDATION_ERROR", 400),
        ("agent", None, "allowed", None, 200),
    ]


@pytest.mark.caller(visibleEmailFields=["subject", "received_at"])
async def test_a_masked_field_is_not_shown(world, agent):
    data, _ = await agent.read("find_mail", q="", limit=1)
    filtered = await agent.call("find_mail", **{"from": "ana@home.example"})

    assert set(data["emails"][0]) == {
        "id",
        "threadId",
        "subject",
        "receivedAt",
        "isRead",
        "hasAttachments",
    }
    assert text_of(filtered).startswith("FIELD_NOT_VISIBLE\n")


async def test_drafts_are_read_changed_and_sent(world):
    stored = leave(world, "PROVIDER_A")
    flags = ["view_drafts", "write_drafts", "send_email"]
    async with world.client(await world.token({"allowedEmailOperations": flags})) as client:
        agent = Agent(client)
        page, line = await agent.read("read_drafts")
        (draft,) = page["drafts"]
        whole, _ = await agent.read("read_drafts", id=draft["id"])
        named = {"id": draft["id"], "version": draft["version"]}
        change = {"action": "change", **named}
        changed = json.loads(text_of(await agent.call("write_draft", **change, body="1 < 2")))
        late = text_of(await agent.call("write_draft", **change, body="late"))
        named["version"] = changed["version"]
        sent = text_of(await agent.call("send_mail", action="draft", **named))

    assert draft["id"] == draft_id("PROVIDER_A", stored)
    assert line.startswith("shown 1")
    assert whole["email"]["text"].strip() == "We offer."
    assert late.startswith("PRECONDITION_FAILED")
    assert json.loads(sent)["success"] is True
    (mail,) = world.sent("provider-a")
    assert b"MSA8IDI=" in mail.raw  # "1 < 2" as it was written


async def test_a_token_that_may_only_send_has_no_tools_of_drafts(world):
    token = await world.token({"allowedEmailOperations": ["send_email"]})
    async with world.client(token) as client:
        assert list(await Agent(client).tools()) == ["send_mail"]


ANSWERS = {"reply": {}, "reply_all": {}, "forward": {"to": [{"email": "bo@home.example"}]}}


@pytest.mark.parametrize("action", ANSWERS)
async def test_a_reply_or_a_forward_is_left_as_a_draft_without_the_right_to_send(world, action):
    flags = ["view_email", "view_drafts", "write_drafts"]
    async with world.client(await world.token({"allowedEmailOperations": flags})) as client:
        agent = Agent(client)
        call = {"action": action, "body": "1 < 2", **ANSWERS[action]}
        nothing = text_of(await agent.call("write_draft", **call))
        made = json.loads(text_of(await agent.call("write_draft", id=world.id("lease"), **call)))
        page, _ = await agent.read("read_drafts")

    assert nothing.startswith("VALIDATION_ERROR")
    assert "id is required" in nothing
    (draft,) = page["drafts"]
    assert made["success"] is True
    assert draft["email"]["subject"].lower().startswith(("re:", "fwd:"))
    assert world.sent("provider-a") == []


async def test_without_the_right_to_read_there_is_no_draft_of_an_answer(world):
    async with world.client(await world.token({"allowedEmailOperations": ["write_drafts"]})) as c:
        agent = Agent(c)
        tools = await agent.tools()
        refused = text_of(
            await agent.call("write_draft", action="reply", id=world.id("lease"), body="b")
        )

    actions = tools["write_draft"]["inputSchema"]["properties"]["action"]["enum"]
    assert actions == ["new", "change", "delete"]
    assert refused.startswith("OPERATION_NOT_ALLOWED")
    assert world.sent("provider-a") == []
