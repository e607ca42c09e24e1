"""Settings per account, by what callers see and by what reaches the providers."""

import pytest
from agent_client import Agent, text_of
from world import ME_B

MESSAGES = "/api/access/email/messages"
SEND = f"{MESSAGES}/send"
NEW = {"to": [{"email": "new@work.example"}], "subject": "Keys", "body": "Here."}


def accounts(world, **settings):
    """Return `accounts` with settings by provider: ``PROVIDER_A={…}``."""
    return {
        "accounts": {str(world.connections[provider]): own for provider, own in settings.items()}
    }


def token_body(world, settings):
    return {
        "name": "t",
        "operatorId": world.operator_id,
        "resourceIds": [1],
        "settings": {"emailAccessEnabled": True, **settings},
    }


async def test_an_account_with_more_than_the_token_is_refused(world):
    wider = accounts(world, PROVIDER_A={"visibleEmailFields": ["all"]})
    body = token_body(world, {"visibleEmailFields": ["subject"], **wider})

    refused = await world.admin.post("/api/access-tokens", json=body)

    path = f"settings.accounts.{world.connections['PROVIDER_A']}.visibleEmailFields"
    assert refused.status_code == 400
    assert refused.json()["error"] == "VALIDATION_ERROR"
    assert refused.json()["details"] == [
        {"field": path, "message": "It allows more than the token."}
    ]


async def test_a_token_that_is_narrowed_later_narrows_its_accounts(world):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["subject", "body"]})
    made = (await world.admin.post("/api/access-tokens", json=token_body(world, own))).json()
    url = f"/api/access-tokens/{made['id']}"

    kept = await world.admin.patch(url, json={"settings": {"visibleEmailFields": ["body"]}})
    wider = await world.admin.patch(url, json={"settings": own})

    assert kept.status_code == 200, kept.text
    assert kept.json()["settings"]["accounts"] == own["accounts"]
    assert wider.status_code == 400
    async with world.client(made["token"]) as client:
        only = (await client.get(MESSAGES)).json()["emails"][0]
        assert only["subject"] is None


async def test_own_settings_show_accounts(world):
    own = accounts(world, PROVIDER_A={"sendMode": "draft"})
    async with world.client(await world.token(own)) as client:
        shown = (await client.get("/api/access/token")).json()

    assert shown["settings"]["accounts"] == own["accounts"]


async def test_the_only_account_of_a_token_narrows_it(world):
    only = {"allowedConnectionIds": [world.connections["PROVIDER_A"]]}
    own = accounts(
        world, PROVIDER_A={"allowedEmailOperations": ["read_only"], "visibleEmailFields": ["body"]}
    )
    world.forget_calls()
    async with world.client(await world.token({**only, **own})) as client:
        refused = await client.post(SEND, json=NEW)
        sought = await client.get(MESSAGES, params={"from": ME_B})
        assert world.calls() == []
        listed = (await client.get(MESSAGES, params={"includeBody": True})).json()

    assert (refused.status_code, refused.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
    assert (sought.status_code, sought.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert {(each["subject"], each["from"]) for each in listed["emails"]} == {(None, None)}
    assert all(each["body"] for each in listed["emails"])


async def test_settings_of_another_account_have_no_effect(world):
    only = {"allowedConnectionIds": [world.connections["PROVIDER_A"]]}
    own = accounts(world, PROVIDER_B={"allowedEmailOperations": []})
    async with world.client(await world.token({**only, **own})) as client:
        sent = await client.post(SEND, json=NEW)

    assert sent.status_code == 200, sent.text
    assert len(world.sent("provider-a")) == 1


@pytest.mark.parametrize("wide", [None, {}])
async def test_a_child_contains_the_accounts_of_its_parent(world, wide):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["subject"]})
    async with world.client(await world.token({**own, "allowChildren": True})) as client:
        wider = await client.post(
            "/api/access/token/children", json={"name": "c", "settings": {"accounts": wide}}
        )
        child = (await client.post("/api/access/token/children", json={"name": "c"})).json()

    assert (wider.status_code, wider.json()["error"]) == (403, "ACCESS_DENIED")
    assert [detail["field"] for detail in wider.json()["details"]] == ["settings.accounts"]
    assert child["settings"]["accounts"] == own["accounts"]


# -- two accounts, one of them narrowed


READ = {"allowedEmailOperations": ["read_only"]}


async def all_pages(client, path, **params):
    """Return the messages of all pages, one a page."""
    messages, after = [], ""
    while after is not None:
        page = await client.get(path, params={**params, "limit": 1, "pageToken": after})
        assert page.status_code == 200, page.text
        messages += page.json()["emails"]
        after = page.json().get("nextPageToken")
    return messages


async def test_a_list_masks_each_account_for_itself(world):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["body", "labels"]})
    async with world.client(await world.token({})) as client:
        whole = await all_pages(client, MESSAGES)
    async with world.client(await world.token(own)) as client:
        world.forget_calls()
        masked = await all_pages(client, MESSAGES)

    assert [each["id"] for each in masked] == [each["id"] for each in whole]
    assert {each["provider"] for each in masked} == {"PROVIDER_A", "PROVIDER_B"}
    for message, seen in zip(masked, whole, strict=True):
        hidden = {"subject", "from", "to", "cc", "bcc", "bodyPreview", "sentAt", "receivedAt"}
        hidden |= {"attachments", "importance"}
        if message["provider"] == "PROVIDER_A":
            assert message == {**seen, **dict.fromkeys(hidden)}
        else:
            assert message == seen
    asked = [str(call) for call in world.sandbox.upstreams["providerA"].calls]
    assert asked
    assert not any("Subject" in call or "snippet" in call for call in asked)


async def test_a_filter_by_a_hidden_field_does_not_ask_the_account(world):
    own = accounts(world, PROVIDER_A={"visibleEmailFields": ["body"]})
    async with world.client(await world.token(own)) as client:
        world.forget_calls()
        found = (await client.get(MESSAGES, params={"from": "example", "limit": 50})).json()
        hits = (await client.get(MESSAGES, params={"subject": "budget"})).json()

    assert {each["provider"] for each in found["emails"]} <= {"PROVIDER_B"}
    assert [each["subject"] for each in hits["emails"]] == ["Budget 2027"]
    assert (hits["totalCount"], hits["hasMore"]) == (1, False)
    assert "authWarnings" not in hits
    assert upstreams(world) == {"providerB"}


async def test_a_filter_that_every_account_hides_is_refused(world):
    own = accounts(
        world,
        PROVIDER_A={"visibleEmailFields": ["from"]},
        PROVIDER_B={"visibleEmailFields": ["to"]},
    )
    graph = '{ emails(participant: "bo@work.example") { totalCount } }'
    async with world.client(await world.token(own)) as client:
        world.forget_calls()
        answer = (await client.post("/graphql", json={"query": graph})).json()
        subject = await client.get(MESSAGES, params={"subject": "lease"})

    assert answer["errors"][0]["extensions"]["code"] == "FIELD_NOT_VISIBLE"
    assert (subject.status_code, subject.json()["error"]) == (403, "FIELD_NOT_VISIBLE")
    assert world.calls() == []


async def test_an_account_that_may_not_be_read_holds_nothing(world):
    own = accounts(world, PROVIDER_A={"allowedEmailOperations": ["send_email"]})
    async with world.client(await world.token(own)) as client:
        world.forget_calls()
        listed = (await client.get(MESSAGES, params={"limit": 50})).json()
        answers = [
            await client.get(f"{MESSAGES}/{world.id('lease')}"),
            await client.get(f"/api/access/email/threads/{world.thread_id('lease')}"),
            await client.get(f"{MESSAGES}/{world.id('lease')}/attachments/1"),
            await client.delete(f"{MESSAGES}/{world.id('lease')}"),
            await client.patch(f"{MESSAGES}/{world.id('lease')}", json={"markAsRead": True}),
        ]
        assert upstreams(world) == {"providerB"}
        other = await client.get(f"{MESSAGES}/{world.id('budget')}")

    assert {each["provider"] for each in listed["emails"]} == {"PROVIDER_B"}
    assert [answer.status_code for answer in answers] == [404, 404, 404, 403, 403]
    assert other.status_code == 200


async def test_only_the_account_that_may_send_sends(world):
    named = world.connections["PROVIDER_A"]
    async with world.client(await world.token(accounts(world, PROVIDER_A=READ))) as client:
        world.forget_calls()
        refused = await client.post(SEND, json={**NEW, "connectionId": named})
        answered = await client.post(f"{MESSAGES}/{world.id('lease')}/reply", json={"body": "x"})
        passed_on = await client.post(
            f"{MESSAGES}/{world.id('lease')}/forward", json={"to": NEW["to"]}
        )
        assert world.calls() == []
        sent = await client.post(SEND, json=NEW)
        replied = await client.post(f"{MESSAGES}/{world.id('budget')}/reply", json={"body": "x"})

    for answer, flag in (
        (refused, "send_email"),
        (answered, "reply_to_email"),
        (passed_on, "forward_email"),
    ):
        assert (answer.status_code, answer.json()["error"]) == (403, "OPERATION_NOT_ALLOWED")
        assert answer.json()["requiredOperation"] == flag
    assert (sent.status_code, replied.status_code) == (200, 200), sent.text
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 2)


async def test_each_account_has_its_recipients(world):
    own = accounts(world, PROVIDER_A={"recipientRules": {"allow": ["@home.example"]}})
    named = world.connections["PROVIDER_A"]
    async with world.client(await world.token(own)) as client:
        world.forget_calls()
        refused = [
            await client.post(SEND, json={**NEW, "connectionId": named}),
            await client.post(f"{MESSAGES}/{world.id('lease')}/forward", json={"to": NEW["to"]}),
        ]
        assert world.calls() == []
        derived = await client.post(f"{MESSAGES}/{world.id('lunch')}/reply", json={"body": "x"})
        sent = await client.post(SEND, json=NEW)
        at_home = {**NEW, "to": [{"email": "ann@home.example"}]}
        ambiguous = await client.post(SEND, json=at_home)

    for answer in (*refused, derived):
        assert (answer.status_code, answer.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert sent.status_code == 200, sent.text
    assert (ambiguous.status_code, ambiguous.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 1)


@pytest.mark.parametrize("key", [{}, {"idempotency-key": "k-1"}])
async def test_one_account_leaves_drafts_and_the_other_sends(world, key):
    own = accounts(world, PROVIDER_A={"sendMode": "draft"})
    async with world.client(await world.token(own)) as client:
        held, sent = [
            await client.post(
                f"{MESSAGES}/{world.id(mail)}/reply",
                json={"body": "x"},
                headers=key and {"idempotency-key": f"k-{mail}"},
            )
            for mail in ("lease", "budget")
        ]

    assert (held.status_code, held.json()["held"]) == (202, "draft")
    assert (sent.status_code, "held" in sent.json()) == (200, False)
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 1)
    drafts = [mail for mail in world.stored_mails() if mail.folder == "drafts"]
    assert [mail.mailbox for mail in drafts] == ["provider-a"]


async def test_an_effect_shows_what_its_account_may_see(world):
    own = accounts(
        world,
        PROVIDER_A={"visibleEmailFields": ["from", "to", "cc", "body"], "sendMode": "draft"},
        PROVIDER_B={"recipientRules": {"allow": ["*"], "block": ["x@x.example"]}},
    )
    dry = {"prefer": "dry-run"}
    async with world.client(await world.token(own)) as client:
        narrow, wide = [
            (
                await client.post(
                    f"{MESSAGES}/{world.id(mail)}/reply", json={"body": "x"}, headers=dry
                )
            ).json()
            for mail in ("lease", "budget")
        ]

    assert "subject" not in narrow["effect"]
    assert narrow["held"] == "draft"
    assert wide["effect"]["subject"] == "RE: Budget 2027"
    assert wide["effect"]["allowedBy"]["recipientPatterns"] == ["*"]
    assert "recipientPatterns" not in narrow["effect"]["allowedBy"]
    assert world.sent("provider-a") == world.sent("provider-b") == []


def upstreams(world):
    names = ("providerA", "providerB")
    return {name for name in names if world.sandbox.upstreams[name].calls}


async def test_people_of_an_account_are_those_that_it_shows_and_may_be_written_to(world):
    query = '{ people(name: "work") { people { email lastContact connectionId } } }'
    found = {}
    for name, own in {
        "nothing": {},
        "senders": {"visibleEmailFields": ["to", "cc"]},
        "times": {"visibleEmailFields": ["from", "to", "cc"]},
        "recipients": {"recipientRules": {"allow": ["@home.example"]}},
        "operation": {"allowedEmailOperations": ["view_email"]},
    }.items():
        token = await world.token(accounts(world, PROVIDER_B=own))
        async with world.client(token) as client:
            answer = (await client.post("/graphql", json={"query": query})).json()
        people = answer["data"]["people"]["people"]
        found[name] = {each["email"]: each["lastContact"] for each in people}

    assert {"bo@work.example", "carla@work.example"} <= found["nothing"].keys()
    for name in ("senders", "recipients", "operation"):
        assert "carla@work.example" not in found[name], name
        assert "bo@work.example" in found[name], name
    assert found["nothing"]["carla@work.example"] is not None
    assert found["times"]["carla@work.example"] is None


async def test_drafts_of_an_account_need_its_operations(world):
    own = accounts(world, PROVIDER_A={"allowedEmailOperations": ["read_only", "view_drafts"]})
    async with world.client(await world.token({"sendMode": "draft"})) as client:
        for provider in ("PROVIDER_A", "PROVIDER_B"):
            written = {**NEW, "connectionId": world.connections[provider]}
            assert (await client.post(SEND, json=written)).status_code == 202
    async with world.client(await world.token(own)) as client:
        listed = (await client.get("/api/access/email/drafts")).json()["drafts"]
        world.forget_calls()
        answers = {
            each["id"].partition(":")[0]: await client.patch(
                f"/api/access/email/drafts/{each['id']}", json={"subject": "Other"}
            )
            for each in listed
        }

    assert {each["id"].partition(":")[0] for each in listed} == {"providerA", "providerB"}
    refused, changed = answers["providerA"], answers["providerB"]
    assert (refused.status_code, refused.json()["requiredOperation"]) == (403, "write_drafts")
    assert changed.status_code == 200, changed.text
    assert upstreams(world) == {"providerB"}


async def test_drafts_show_what_their_account_shows(world):
    shown = {"visibleEmailFields": ["to", "body"]}
    own = accounts(world, PROVIDER_A=shown, PROVIDER_B={"allowedEmailOperations": ["read_only"]})
    async with world.client(await world.token({"sendMode": "draft"})) as client:
        for provider in ("PROVIDER_A", "PROVIDER_B"):
            written = {**NEW, "connectionId": world.connections[provider]}
            assert (await client.post(SEND, json=written)).status_code == 202
    async with world.client(await world.token(own)) as client:
        listed = (await client.get("/api/access/email/drafts")).json()["drafts"]
        one = (await client.get(f"/api/access/email/drafts/{listed[0]['id']}")).json()

    assert [each["id"].partition(":")[0] for each in listed] == ["providerA"]
    assert listed[0]["email"]["subject"] is None
    assert one["email"]["subject"] is None


async def test_drafts_are_made_and_sent_by_accounts_that_allow_it(world):
    drafts = "/api/access/email/drafts"
    own = accounts(
        world,
        PROVIDER_A={"allowedEmailOperations": ["read_only", "view_drafts", "write_drafts"]},
        PROVIDER_B={"recipientRules": {"allow": ["@home.example"]}},
    )
    at_home = {**NEW, "to": [{"email": "ann@home.example"}]}
    async with world.client(await world.token(own)) as client:
        made = await client.post(drafts, json=NEW)
        ambiguous = await client.post(drafts, json=at_home)
        elsewhere = {**NEW, "connectionId": world.connections["PROVIDER_B"]}
        refused = await client.post(drafts, json=elsewhere)
        ours = await client.post(
            drafts, json={**at_home, "connectionId": world.connections["PROVIDER_B"]}
        )
        listed = (await client.get(drafts)).json()["drafts"]
        sent = {
            each["id"].partition(":")[0]: await client.post(f"{drafts}/{each['id']}/send")
            for each in listed
        }

    assert (made.json()["emailId"].partition(":")[0], made.json()["held"]) == ("providerA", "draft")
    assert (ambiguous.status_code, ambiguous.json()["error"]) == (400, "AMBIGUOUS_ACCOUNT")
    assert (refused.status_code, refused.json()["error"]) == (403, "RECIPIENT_NOT_ALLOWED")
    assert ours.status_code in {200, 201, 202}, ours.text
    assert sent["providerA"].json()["requiredOperation"] == "send_email"
    assert sent["providerB"].status_code == 200, sent["providerB"].text
    assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (0, 1)


async def test_explain_names_the_settings_that_decided(world):
    """The account's, the token's, or both; the change that it names lets the call pass."""
    own = accounts(world, PROVIDER_A=READ, PROVIDER_B=READ)
    named = world.connections["PROVIDER_A"]
    sends = ["read_only", "send_email"]
    call = {"method": "POST", "path": SEND, "body": {**NEW, "connectionId": named}}
    changes = {}
    for name, settings in {
        "account": {**own, "allowedEmailOperations": sends},
        "token": {**accounts(world, PROVIDER_A={}), "allowedEmailOperations": ["read_only"]},
        "both": {**own, "allowedEmailOperations": ["read_only"]},
    }.items():
        made = await world.admin.post("/api/access-tokens", json=token_body(world, settings))
        token = made.json()
        url = f"/api/access-tokens/{token['id']}"
        world.forget_calls()
        answer = (await world.admin.post(f"{url}/explain", json=call)).json()
        assert answer["error"] == "OPERATION_NOT_ALLOWED"
        changes[name] = answer["change"]["text"]
        patch = answer["change"]["settings"]
        assert world.calls() == []
        changed = await world.admin.patch(url, json={"settings": patch})
        assert changed.status_code == 200, changed.text
        async with world.client(token["token"]) as client:
            assert (await client.post(SEND, json=call["body"])).status_code == 200

    own_list = f"accounts.{named}.allowedEmailOperations"
    assert changes == {
        "account": f"Add 'send_email' to {own_list}.",
        "token": "Add 'send_email' to allowedEmailOperations.",
        "both": f"Add 'send_email' to allowedEmailOperations; add 'send_email' to {own_list}.",
    }


# -- writes of one account that need its effect, or a person


def new_from(world, provider):
    return {**NEW, "connectionId": world.connections[provider]}


def writes_on_b(world, mode):
    return {"allowedEmailOperations": ["all"], **accounts(world, PROVIDER_B={"writes": mode})}


@pytest.mark.slow
async def test_writes_of_one_account_wait_and_the_others_run(world):
    async with world.client(await world.token(writes_on_b(world, "approve"))) as client:
        sent = await client.post(SEND, json=new_from(world, "PROVIDER_A"))
        held = await client.post(SEND, json=new_from(world, "PROVIDER_B"))
        document = "mutation($input: SendEmailInput!) { sendEmail(input: $input) { success } }"
        asked = {"query": document, "variables": {"input": new_from(world, "PROVIDER_B")}}
        graph = (await client.post("/graphql", json=asked)).json()
        replied = await client.post(f"{MESSAGES}/{world.id('budget')}/reply", json={"body": "x"})

        assert sent.status_code == 200, sent.text
        assert (held.status_code, held.json()["state"]) == (202, "held"), held.text
        assert held.json()["effect"]["account"]["connectionId"] == world.connections["PROVIDER_B"]
        assert graph["errors"][0]["extensions"]["code"] == "WRITE_HELD"
        assert replied.status_code == 202, replied.text
        assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (1, 0)

        released = await world.admin.post(f"/api/held-writes/{held.json()['id']}/release")
        assert released.status_code == 200, released.text
        path, wait = f"/api/access/writes/{held.json()['id']}", {"prefer": "wait=30"}
        ended = await client.get(path, headers=wait)
    assert ended.status_code == 200, ended.text
    assert len(world.sent("provider-b")) == 1


async def test_writes_of_one_account_need_their_effect_and_the_others_run(world):
    key = {"idempotency-key": "k-1"}
    async with world.client(await world.token(writes_on_b(world, "effect"))) as client:
        sent = await client.post(SEND, json=new_from(world, "PROVIDER_A"))
        new = new_from(world, "PROVIDER_B")
        shown = await client.post(SEND, json=new, headers=key)
        dry = await client.post(SEND, json=new, headers={"prefer": "dry-run"})
        assert (len(world.sent("provider-a")), len(world.sent("provider-b"))) == (1, 0)
        assert (sent.status_code, shown.status_code) == (200, 428), shown.text
        assert shown.json()["effect"] == dry.json()["effect"]
        wrong = await client.post(SEND, json=new, headers={"if-effect": '"x"'})
        assert wrong.status_code in {400, 428}
        again = {**key, "if-effect": f'"{shown.json()["effect"]["digest"]}"'}
        done = await client.post(SEND, json=new, headers=again)
        repeated = await client.post(SEND, json=new, headers=again)

    assert (done.status_code, repeated.status_code) == (200, 200), done.text
    assert len(world.sent("provider-b")) == 1


async def test_an_agent_learns_that_a_write_of_one_account_waits(world):
    settings = {
        "allowedEmailOperations": ["all"],
        **accounts(world, PROVIDER_A={"writes": "effect"}, PROVIDER_B={"writes": "approve"}),
    }
    words = {"action": "new", "to": ["new@work.example"], "subject": "Keys", "body": "Here."}
    a, b = (world.connections[each] for each in ("PROVIDER_A", "PROVIDER_B"))
    async with world.client(await world.token(settings)) as client:
        agent = Agent(client)
        shown = text_of(await agent.call("send_mail", **words, connectionId=a))
        held = text_of(await agent.call("send_mail", **words, connectionId=b))

    assert "digest" in shown or "confirm" in shown, shown
    assert "WRITE_HELD" in held, held
    assert (world.sent("provider-a"), world.sent("provider-b")) == ([], [])


async def test_an_account_that_writes_more_freely_than_its_token_is_refused(world):
    wider = accounts(world, PROVIDER_A={"writes": "direct"})
    body = token_body(world, {"writes": "approve", **wider})

    refused = await world.admin.post("/api/access-tokens", json=body)

    assert refused.status_code == 400
    assert [each["field"] for each in refused.json()["details"]] == [
        f"settings.accounts.{world.connections['PROVIDER_A']}.writes"
    ]


async def test_explain_names_the_account_whose_writes_need_their_effect(world):
    body = token_body(world, writes_on_b(world, "effect"))
    made = (await world.admin.post("/api/access-tokens", json=body)).json()
    asked = {"method": "POST", "path": SEND, "body": new_from(world, "PROVIDER_B")}

    told = await world.admin.post(f"/api/access-tokens/{made['id']}/explain", json=asked)

    assert told.json()["error"] == "EFFECT_REQUIRED"
    assert f"accounts.{world.connections['PROVIDER_B']}.writes" in str(told.json()["change"])
    assert world.sent("provider-b") == []
