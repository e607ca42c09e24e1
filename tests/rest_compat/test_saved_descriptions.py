"""A token's OpenAPI description has the saved documents that the token can run, and no others."""

import re

import jsonschema_rs
import pytest
from schemathesis import openapi
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR
from sqlalchemy import update

from gateway.http.api_descriptions import access_document
from gateway.store.tables import SavedDocumentRow

OPENAPI = "/api/access/openapi.json"
REST_OF = "/graphql/rest-of"
WHOLE = access_document()
LIST = """query Inbox($q: String, $limit: Int = 5, $bodies: Boolean! = false) {
  emails(q: $q, limit: $limit) {
    emails { ...Row thread { messages { id } } body @include(if: $bodies) }
    ... { nextPageToken } accessInfo __typename
  }
}
fragment Row on Email { id title: subject from { email } from { name } }"""
READ = "query Read($emailId: String!) { email(emailId: $emailId) { id subject } }"
SEND = """mutation Send($input: SendEmailInput!) {
  sendEmail(input: $input) { success emailId }
}"""
DELETE = "mutation Drop($id: String!) { deleteEmail(emailId: $id) { success } }"
FROM = "query From($from: String) { emails(from: $from) { hasMore } }"
TASKS = "{ taskProviders { providerCode } }"
INBOX = {"document": LIST, "method": "GET", "path": "/api/saved/inbox"}
MAIL = {"document": READ, "method": "GET", "path": "/api/saved/mail/{emailId}"}
SENDING = {
    "document": SEND,
    "method": "POST",
    "path": "/api/saved/send",
    "status": 201,
    "description": "Send a mail. It is signed by the office.",
}
DROPPING = {"document": DELETE, "method": "DELETE", "path": "/api/saved/mail/{id}", "status": 204}
ALL = {"inbox": INBOX, "mail": MAIL, "send-mail": SENDING, "drop": DROPPING}


async def save(world, documents):
    for name, body in documents.items():
        response = await world.admin.put(f"/api/documents/{name}", json=body)
        assert response.status_code == 200, response.text


async def described(world, **settings):
    """Return the description of a token with *settings*, whose call reaches no upstream."""
    async with world.client(await world.token(settings)) as client:
        world.forget_calls()
        response = await client.get(OPENAPI)
    assert response.status_code == 200
    assert world.calls() == []
    description = response.json()
    OPENAPI_31_VALIDATOR.validate(description)
    for kind, name in set(re.findall(r'"#/components/(\w+)/(\w+)"', response.text)):
        assert name in description["components"][kind]
    for path, methods in description["paths"].items():
        for operation in methods.values():
            names = [each["name"] for each in operation["parameters"] if each.get("in") == "path"]
            assert names == re.findall(r"\{(\w+)\}", path)
    return description


def saved(description):
    """Return the operations of saved documents by method and path."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/api/saved/")
    }


def documented(description):
    return {path for path in description["paths"] if not path.startswith("/api/saved/")}


def schema(description, reference):
    return description["components"]["schemas"][reference["$ref"].rpartition("/")[2]]


def own_parameters(operation):
    return {each["name"]: each for each in operation["parameters"] if "name" in each}


async def test_a_document_is_described_with_its_parameters_and_its_selection(world):
    await save(world, ALL)

    description = await described(world)

    operations = saved(description)
    inbox = operations["GET /api/saved/inbox"]
    assert list(operations) == [
        "GET /api/saved/inbox",
        "GET /api/saved/mail/{emailId}",
        "DELETE /api/saved/mail/{emailId}",
        "POST /api/saved/send",
    ]
    assert documented(description) == documented(await described(world, documentsLogOnly=[]))
    assert (inbox["operationId"], inbox["tags"]) == ("savedInbox", ["Saved documents"])
    assert "The saved document `inbox`. Requires `search_emails`." in inbox["description"]
    parameters = own_parameters(inbox)
    listing = own_parameters(WHOLE["paths"]["/api/access/email/messages"]["get"])
    assert list(parameters) == ["q", "limit", "bodies"]
    assert parameters["q"]["description"] == listing["q"]["description"]
    assert parameters["q"]["schema"] == {"type": "string"}
    assert parameters["limit"]["schema"] == {**listing["limit"]["schema"], "default": 5}
    assert parameters["bodies"]["schema"] == {"type": "boolean", "default": False}
    assert {each["required"] for each in parameters.values()} == {False}
    success = inbox["responses"]["200"]
    whole = WHOLE["paths"]["/api/access/email/messages"]["get"]["responses"]["200"]
    assert success["headers"] == whole["headers"]
    body = success["content"]["application/json"]["schema"]
    assert body == {"$ref": "#/components/schemas/SavedInboxEmailPage"}
    page = schema(description, body)
    assert list(page["properties"]) == ["emails", "nextPageToken", "accessInfo", "__typename"]
    assert page["required"] == ["emails", "nextPageToken", "__typename"]
    email = description["components"]["schemas"]["SavedInboxEmail"]
    assert list(email["properties"]) == ["id", "title", "from", "thread", "body"]
    assert email["required"] == ["id", "title", "from", "thread"]
    assert email["properties"]["title"]["type"] == ["string", "null"]
    person = schema(description, email["properties"]["from"]["anyOf"][0])
    assert list(person["properties"]) == ["email", "name"]
    inner = description["components"]["schemas"]["SavedInboxMessagesEmail"]
    assert list(inner["properties"]) == ["id"]


@pytest.mark.slow
async def test_a_write_is_described_with_its_body_and_all_that_it_may_answer(world):
    await save(world, ALL)

    description = await described(world)

    send, drop = (
        saved(description)[name]
        for name in ("POST /api/saved/send", "DELETE /api/saved/mail/{emailId}")
    )
    documented_send = WHOLE["paths"]["/api/access/email/messages/send"]["post"]
    assert (send["operationId"], send["summary"]) == ("savedSendMail", "Send a mail")
    assert send["description"].startswith("It is signed by the office.\n\nThe saved document ")
    assert send["parameters"] == documented_send["parameters"]
    content = send["requestBody"]["content"]["application/json"]
    body = schema(description, content["schema"])
    assert content == {"schema": {"$ref": "#/components/schemas/SendEmailRequest"}}
    assert body == WHOLE["components"]["schemas"]["SendEmailRequest"]
    expected = {*documented_send["responses"], "201"} - {"200"}
    assert set(send["responses"]) == expected
    assert send["responses"]["404"] == {"$ref": "#/components/responses/ApiError404"}
    assert list(own_parameters(drop)) == ["emailId"]
    assert own_parameters(drop)["emailId"]["in"] == "path"
    assert own_parameters(drop)["emailId"]["required"] is True
    assert {"200", "204", "404", "412"} <= drop["responses"].keys()


async def test_errors_of_an_edge_are_described_where_the_root_field_has_no_surface(world):
    sent = "query ($email: String!) { person(email: $email) { sent { hasMore } } }"
    named = "query ($email: String!) { person(email: $email) { email } }"
    texts = {"sent": sent, "named": named}
    await save(
        world,
        {
            name: {"document": text, "method": "GET", "path": f"/api/saved/{name}"}
            for name, text in texts.items()
        },
    )

    own = saved(await described(world))

    upstream = {"502", "504"}
    assert upstream <= own["GET /api/saved/sent"]["responses"].keys()
    assert not upstream & own["GET /api/saved/named"]["responses"].keys()


@pytest.mark.slow
async def test_the_described_schemas_fit_the_answers(world):
    await save(world, ALL)
    async with world.client(await world.token({})) as client:
        description = openapi.from_dict((await client.get(OPENAPI)).json())
        for path, address in (
            ("/api/saved/inbox", "/api/saved/inbox?bodies=true&limit=2"),
            ("/api/saved/mail/{emailId}", f"/api/saved/mail/{world.id('lease')}"),
        ):
            answer = await client.get(address)
            assert answer.status_code == 200, answer.text
            description[path]["GET"].validate_response(answer)
        page = description.raw_schema["components"]["schemas"]["SavedInboxEmailPage"]
        both = {**page, "components": description.raw_schema["components"]}
        assert not jsonschema_rs.is_valid(both, {"emails": [{}], "nextPageToken": None})


SHAPES = [
    ({"allowedEmailOperations": ["read_only"]}, ["from", "inbox", "mail"]),
    ({"allowedEmailOperations": ["view_email"]}, ["mail"]),
    ({"allowedEmailOperations": ["send_email"]}, ["send-mail"]),
    ({"emailAccessEnabled": False}, []),
    ({"visibleEmailFields": ["subject", "body"]}, sorted(ALL)),
    ({"documents": ["mail", "other"]}, ["mail"]),
    ({"documents": []}, []),
    ({"documents": "saved"}, sorted({*ALL, "from"})),
    ({"documents": ["send-mail"], "allowedEmailOperations": ["view_email"]}, []),
    ({"documentsLogOnly": ["mail"]}, sorted({*ALL, "from"})),
]


@pytest.mark.parametrize(("settings", "names"), SHAPES, ids=lambda value: str(value)[:60])
async def test_a_token_sees_what_it_can_run_and_learns_nothing_of_the_rest(world, settings, names):
    """Removing what the token cannot run changes no byte."""
    documents = {**ALL, "from": {"document": FROM, "method": "GET", "path": "/api/saved/from"}}
    names = set(names)
    documents["tasks"] = {"document": TASKS, "method": "GET", "path": "/api/saved/tasks"}
    await save(world, documents)
    token = await world.token(settings)
    async with world.client(token) as client:
        before = await client.get(OPENAPI)
        for name in documents.keys() - names:
            assert (await world.admin.delete(f"/api/documents/{name}")).status_code == 204
        after = await client.get(OPENAPI)

    assert before.content == after.content
    shown = {re.search(r"document `([a-z-]+)`", each["description"])[1] for each in saved(
        before.json()).values()}  # fmt: skip
    assert shown == names
    if "documents" in settings:
        assert documented(before.json()) == {REST_OF}
    for name in documents.keys() - names:
        assert f"saved document `{name}`" not in before.text


@pytest.mark.slow
async def test_a_limited_token_may_make_the_call_that_its_description_has(world):
    await save(world, ALL)
    async with world.client(await world.token({"documents": ["inbox"]})) as client:
        description = (await client.get(OPENAPI)).json()
        world.forget_calls()
        question = {"query": READ, "variables": {"emailId": "x"}}
        answers = [await client.post(path, json=question) for path in (REST_OF, "/graphql/explain")]
        token = await client.get("/api/access/token")

    assert description["paths"].keys() == {REST_OF, "/api/saved/inbox"}
    assert [answers[0].status_code, token.status_code] == [200, 403]
    assert "DOCUMENT_NOT_ALLOWED" in answers[1].text
    assert world.calls() == []


async def test_a_mask_marks_the_members_that_it_hides(world):
    await save(world, ALL)
    description = await described(world, visibleEmailFields=["from"])

    email = description["components"]["schemas"]["SavedMailEmail"]
    assert email["properties"]["subject"]["type"] == ["string", "null"]
    assert email["properties"]["subject"]["x-masked-by"] == "subject"
    assert email["properties"]["subject"]["description"].endswith("by the mask word `subject`.")
    assert "x-masked-by" not in email["properties"]["id"]


@pytest.mark.slow
async def test_a_change_is_described_at_the_next_request(world):
    async with world.client(await world.token({})) as client:
        empty = await client.get(OPENAPI)
        await save(world, {"inbox": INBOX})
        first = (await client.get(OPENAPI)).json()
        await save(world, {"inbox": {**INBOX, "path": "/api/saved/mails"}})
        changed = (await client.get(OPENAPI)).json()
        assert (await world.admin.delete("/api/documents/inbox")).status_code == 204
        removed = await client.get(OPENAPI)

    assert list(saved(first)) == ["GET /api/saved/inbox"]
    assert list(saved(changed)) == ["GET /api/saved/mails"]
    assert removed.content == empty.content
    assert saved(empty.json()) == {}


async def test_a_document_of_another_version_is_left_out(world):
    await save(world, {"old": {**MAIL, "path": "/api/saved/old/{emailId}"}})
    async with world.gateway.services.database.writing() as session:
        await session.exec(update(SavedDocumentRow).values(text="{ colours }", digest="0"))
    await save(world, {"inbox": INBOX})

    assert list(saved(await described(world))) == ["GET /api/saved/inbox"]


async def test_texts_are_read_once_per_change_and_shape(world):
    await save(world, {"inbox": INBOX})
    reader = world.gateway.services.documents._reader
    tokens = [await world.token({"quota": {"perHour": number}}) for number in (50, 60)]
    queries, rows = [], reader.rows

    async def counted(query, values):
        queries.append(query)
        return await rows(query, values)

    reader.rows = counted
    answers = []
    for token in (*tokens, *tokens):
        async with world.client(token) as client:
            answers.append((await client.get(OPENAPI)).content)

    assert len(set(answers)) == 1
    assert len([query for query in queries if " text" in query]) == 1


@pytest.mark.slow
async def test_names_never_collide_and_read_like_the_documented_ones(world):
    read = {"document": READ, "method": "GET"}
    names = ["inbox", "in-box", "in--box", "inbox-email", "mail-page"]
    documents = {name: {**read, "path": f"/api/saved/{name}/{{emailId}}"} for name in names}
    documents["inbox"] = INBOX
    await save(world, documents)

    description = await described(world)

    ids = [operation["operationId"] for operation in saved(description).values()]
    plain = [name for name in ids if not name[-1].isdigit()]
    assert sorted(ids) == [
        *("savedInBox2", "savedInBox3", "savedInbox"),
        *("savedInboxEmail", "savedMailPage"),
    ]
    assert all(re.fullmatch(r"saved([A-Z][a-z]+)+", name) for name in plain)
    every = [
        operation["operationId"]
        for methods in description["paths"].values()
        for operation in methods.values()
    ]
    assert len({name.lower() for name in every}) == len(every)
    schemas = description["components"]["schemas"]
    assert len({name.lower() for name in schemas}) == len(schemas)
    assert not [name for name in WHOLE["components"]["schemas"] if name.startswith("Saved")]
    for name in names:
        operation = saved(description)[f"{'GET'} {documents[name]['path']}"]
        reference = operation["responses"]["200"]["content"]["application/json"]["schema"]
        selected = schema(description, reference)["properties"]
        assert ("subject" in selected) is (name != "inbox")
