"""Readable text by REST and GraphQL, on every connector (docs/spec/readable-text.md)."""

import pytest

shared = pytest.mark.asyncio(loop_scope="session")  # for tests that change nothing
MESSAGES = "/api/access/email/messages"
TEXTS = {"lease": "The lease is attached. Please sign it.", "budget": "The budget for 2027."}
DOCUMENT = """query($id: String!, $quoted: Boolean!) {
  email(emailId: $id) { body bodyType text(quoted: $quoted) }
  as: email(emailId: $id, bodyAs: text, quoted: $quoted) { body bodyType text }
  none: email(emailId: $id, includeBody: false, bodyAs: text) { body bodyType text }
}"""


async def graph(client, query, **variables):
    answer = await client.post("/graphql", json={"query": query, "variables": variables})
    return answer.json()


@shared
@pytest.mark.parametrize("name", TEXTS)
async def test_a_body_is_text_by_both_interfaces(client, world, name):
    path = f"{MESSAGES}/{world.id(name)}"
    plain = (await client.get(path)).json()

    for quoted in ("true", "false"):
        response = await client.get(path, params={"bodyAs": "text", "quoted": quoted})
        assert response.status_code == 200
        assert response.json() == {**plain, "body": TEXTS[name], "bodyType": "text"}
        answer = await graph(client, DOCUMENT, id=world.id(name), quoted=quoted == "true")
        own = {"body": plain["body"], "bodyType": plain["bodyType"], "text": TEXTS[name]}
        assert answer["data"]["email"] == own
        assert answer["data"]["as"] == {**own, "body": TEXTS[name], "bodyType": "text"}
        assert answer["data"]["none"] == {"body": None, "bodyType": None, "text": None}


@shared
async def test_texts_of_a_page_and_of_a_conversation(client, world):
    page = '{ emails(q: "lease", includeBody: true) { emails { text } } }'
    assert (await graph(client, page))["data"] == {"emails": {"emails": [{"text": TEXTS["lease"]}]}}
    page = '{ emails(q: "lease") { emails { text } } }'
    assert (await graph(client, page))["data"] == {"emails": {"emails": [{"text": None}]}}
    thread = "query($id: String!) { emailThread(threadId: $id) { messages { text } } }"
    answer = await graph(client, thread, id=world.thread_id("lease"))
    assert answer["data"] == {"emailThread": {"messages": [{"text": TEXTS["lease"]}]}}


@shared
@pytest.mark.parametrize(
    "params", [{"quoted": "false"}, {"bodyAs": "markdown"}, {"bodyAs": "text", "quoted": "x"}]
)
async def test_a_form_that_does_not_exist_is_refused(client, world, params):
    response = await client.get(f"{MESSAGES}/{world.id('lease')}", params=params)

    assert (response.status_code, response.json()["error"]) == (400, "INVALID_PARAMETER")


@pytest.mark.caller(visibleEmailFields=["subject", "body_preview"])
@pytest.mark.parametrize("name", TEXTS)
async def test_without_the_word_body_there_is_no_text_and_nothing_is_fetched(client, world, name):
    path = f"{MESSAGES}/{world.id(name)}"
    with_text = "query($id: String!) { email(emailId: $id) { id text text2: text(quoted: false) } }"
    without = "query($id: String!) { email(emailId: $id) { id } }"
    seen = []
    for query in (without, with_text):
        world.forget_calls()
        seen.append((await graph(client, query, id=world.id(name)))["data"]["email"])
        seen.append([(call["method"], call["path"]) for call in world.calls()])

    assert seen[2] == {"id": world.id(name), "text": None, "text2": None}
    assert seen[1] == seen[3]
    response = await client.get(path, params={"bodyAs": "text", "quoted": "false"})
    body = response.json()
    assert (body["body"], body["bodyType"]) == (None, None)
    assert TEXTS[name] not in response.text.replace(str(body["bodyPreview"]), "")
