"""
Check the sandbox's provider B (Outlook) with the vendor's unchanged Python client over a socket:
every response must fit the vendor's published types and the client's own models.
"""

import asyncio
import json
import time
import urllib.request
from pathlib import Path

import calendar_checks
import msal
import requests
from kiota_abstractions.authentication import (
    AccessTokenProvider,
    AllowedHostsValidator,
    BaseBearerTokenAuthenticationProvider,
)
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.generated.models.body_type import BodyType
from msgraph.generated.models.email_address import EmailAddress
from msgraph.generated.models.file_attachment import FileAttachment
from msgraph.generated.models.importance import Importance
from msgraph.generated.models.item_body import ItemBody
from msgraph.generated.models.mail_folder import MailFolder
from msgraph.generated.models.message import Message
from msgraph.generated.models.o_data_errors.o_data_error import ODataError
from msgraph.generated.models.outlook_category import OutlookCategory
from msgraph.generated.models.recipient import Recipient
from msgraph.generated.users.item.mail_folders.item.messages.messages_request_builder import (
    MessagesRequestBuilder as FolderMessages,
)
from msgraph.generated.users.item.messages.item.attachments.attachments_request_builder import (
    AttachmentsRequestBuilder as Attachments,
)
from msgraph.generated.users.item.messages.item.create_reply.create_reply_post_request_body import (
    CreateReplyPostRequestBody,
)
from msgraph.generated.users.item.messages.item.forward.forward_post_request_body import (
    ForwardPostRequestBody,
)
from msgraph.generated.users.item.messages.item.message_item_request_builder import (
    MessageItemRequestBuilder as One,
)
from msgraph.generated.users.item.messages.item.move.move_post_request_body import (
    MovePostRequestBody,
)
from msgraph.generated.users.item.messages.item.reply.reply_post_request_body import (
    ReplyPostRequestBody,
)
from msgraph.generated.users.item.messages.messages_request_builder import (
    MessagesRequestBuilder as Many,
)
from msgraph.generated.users.item.send_mail.send_mail_post_request_body import (
    SendMailPostRequestBody,
)
from msgraph.graph_request_adapter import options
from msgraph_core import GraphClientFactory
from msgraph_core.requests.batch_request_content import BatchRequestContent
from msgraph_core.requests.batch_request_item import BatchRequestItem
from msgraph_core.tasks.page_iterator import PageIterator
from serving import served

ROOT = Path(__file__).resolve().parents[2]
# The derived list of types is beside the checkout, or with the tests.
TYPES_AT = (
    ROOT.parent / "shared/reference/schemas/graph_types_min.json",
    ROOT / "tests/sandbox/provider_b/data/graph_types_min.json",
)
TYPES = json.loads(next(path for path in TYPES_AT if path.is_file()).read_text("utf-8"))
KINDS = {
    "messages": "message",
    "$metadata#Collection(message)": "message",
    "mailFolders": "mailFolder",
    "$metadata#Collection(mailFolder)": "mailFolder",
    "attachments": "fileAttachment",
    "masterCategories": "outlookCategory",
    "$metadata#users": "user",
    "calendars": "calendar",
    "events": "event",
    "calendarView": "event",
    "instances": "event",
    "$metadata#Collection(microsoft.graph.scheduleInformation)": "scheduleInformation",
}
UNLISTED = {"calendarGroups"}  # types that the derived list does not contain
PRIMITIVES = {"Edm.String": str, "Edm.Boolean": bool, "Edm.Int32": int, "Edm.Binary": str}
SEEN = {"answers": 0, "checked": 0, "models": 0}


def problems(value, kind, path):
    """Yield the parts of a response that violate the published type."""
    if value is None:
        return
    if kind.startswith("Collection("):
        for index, item in enumerate(value):
            yield from problems(item, kind[11:-1], f"{path}[{index}]")
    elif kind in TYPES["enums"]:
        if value not in TYPES["enums"][kind]:
            yield f"{path}: {value!r} is not in {kind}"
    elif kind in TYPES["types"]:
        named = value.get("@odata.type", "").removeprefix("#") or kind
        known = TYPES["types"][named]
        for name, member in value.items():
            if "@" in name:
                continue
            if name in known["props"]:
                yield from problems(member, known["props"][name], f"{path}.{name}")
            elif named != "microsoft.graph.user":  # the list has only a few of its members
                yield f"{path}.{name} is not a property of {named}"
    elif not isinstance(value, PRIMITIVES.get(kind, str)):
        yield f"{path}: {value!r} is not {kind}"


async def check_answer(response):
    await response.aread()
    SEEN["answers"] += 1
    if "json" not in response.headers.get("content-type", "") or response.status_code >= 400:
        return
    check_body(response.json())


def check_body(body):
    for part in body.get("responses", ()):
        assert "error" in part["body"] or part["status"] < 400, part
        if part["status"] < 400:
            check_body(part["body"])
    context = body.get("@odata.context", "")
    kind = KINDS.get(context.removesuffix("/$entity").rpartition("/")[2])
    if kind is None:
        assert "responses" in body or context.rpartition("/")[2] in UNLISTED, (context, body)
        return
    for record in [body] if context.endswith("$entity") else body["value"]:
        violations = list(problems(record, f"microsoft.graph.{kind}", kind))
        assert not violations, violations
        SEEN["checked"] += 1


def unknown(model, path="$"):
    """Yield the members that the client's model does not define."""
    SEEN["models"] += 1
    extra = getattr(model, "additional_data", None)
    if isinstance(extra, dict):
        yield from (f"{path}.{name}" for name in extra if "@" not in name)
    store = getattr(model, "backing_store", None)
    members = dict(store.enumerate_()) if store is not None else vars(model)
    for name, value in members.items():
        for item in value if isinstance(value, list) else [value]:
            if name not in {"additional_data", "backing_store"} and hasattr(
                item, "get_field_deserializers"
            ):
                yield from unknown(item, f"{path}.{name}")


def strict(model):
    unknown_members = list(unknown(model))
    assert not unknown_members, unknown_members
    return model


class Static(AccessTokenProvider):
    def __init__(self, token):
        self.token, self.hosts = token, AllowedHostsValidator([])

    async def get_authorization_token(self, uri, additional_authentication_context=None):
        return self.token

    def get_allowed_hosts_validator(self):
        return self.hosts


def connect(facts, token):
    http = GraphClientFactory.create_with_default_middleware(options=options)
    http.event_hooks = {"response": [check_answer]}
    adapter = GraphRequestAdapter(BaseBearerTokenAuthenticationProvider(Static(token)), client=http)
    adapter.base_url = f"{facts['url']}/provider-b/v1.0"
    return GraphServiceClient(request_adapter=adapter), adapter


def asked(parameters=None, **headers):
    found = RequestConfiguration(query_parameters=parameters)
    for name, values in headers.items():
        for value in values if isinstance(values, tuple) else (values,):
            found.headers.add(name.replace("_", "-"), value)
    return found


def control(facts, method, path, body=None):
    request = urllib.request.Request(
        facts["url"] + path, method=method, data=None if body is None else json.dumps(body).encode()
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read()
    return json.loads(text) if text else None


def person(address, name=None):
    return Recipient(email_address=EmailAddress(address=address, name=name))


async def refused(call, status, code):
    try:
        await call
    except ODataError as error:
        assert (error.response_status_code, error.error.code) == (status, code), error
        assert error.error.inner_error.request_id
        assert error.error.message
        return
    raise AssertionError(f"expected {status} {code}")


PREFER = {"Prefer": ('outlook.body-content-type="text"', 'IdType="ImmutableId"')}
SELECT = ["id", "conversationId", "subject", "from", "toRecipients", "receivedDateTime", "body"]


async def lists(client, adapter):
    query = Many.MessagesRequestBuilderGetQueryParameters
    page = strict(
        await client.me.messages.get(
            asked(query(search='"from:ann@x.test lease"', select=SELECT, top=5), **PREFER)
        )
    )
    assert len(page.value) == 5
    assert all(item.from_.email_address.address == "ann@x.test" for item in page.value)
    assert page.value[0].subject == "Lease 22 – café"
    assert page.value[0].body.content_type == BodyType.Text
    assert page.odata_next_link.startswith(adapter.base_url)
    second = strict(await client.me.messages.with_url(page.odata_next_link).get(asked(**PREFER)))
    assert not {item.id for item in page.value} & {item.id for item in second.value}

    seen = []
    pages = PageIterator(page, adapter)
    await pages.iterate(lambda one: seen.append(one.subject) or True)
    assert len(seen) == 13, len(seen)  # includes the message in the trash

    wanted = query(
        filter="receivedDateTime ge 1900-01-01T00:00:00Z and isRead eq false"
        " and categories/any(c:c eq 'home')",
        orderby=["receivedDateTime desc"],
        top=2,
        count=True,
        expand=["attachments($select=id,name,contentType,size,isInline)"],
    )
    page = strict(await client.me.messages.get(asked(wanted)))
    assert page.odata_count == 4, page.odata_count
    times = [item.received_date_time for item in page.value]
    assert times == sorted(times, reverse=True)
    assert all("Home" in item.categories for item in page.value)
    seen = []
    await PageIterator(page, adapter).iterate(lambda one: seen.append(one.id) or True)
    assert len(seen) == page.odata_count

    everything = await client.me.messages.get(asked(query(top=1000)))
    strict(everything)
    assert len(everything.value) == 24
    thread = next(
        item for item in everything.value if item.subject.startswith("Lease 5 ")
    ).conversation_id
    found = strict(
        await client.me.messages.get(asked(query(filter=f"conversationId eq '{thread}'", top=50)))
    )
    assert {item.subject for item in found.value} == {"Lease 4 – café", "Lease 5 – café"}
    await refused(
        client.me.messages.get(asked(query(search='"a"', orderby=["receivedDateTime"]))),
        400,
        "SearchWithOrderBy",
    )
    await refused(
        client.me.messages.get(
            asked(query(filter=f"conversationId eq '{thread}'", orderby=["receivedDateTime desc"]))
        ),
        400,
        "InefficientFilter",
    )


async def reading(client):
    query = Many.MessagesRequestBuilderGetQueryParameters
    page = await client.me.messages.get(asked(query(filter="hasAttachments eq true"), **PREFER))
    (one,) = page.value
    item = client.me.messages.by_message_id(one.id)
    names = One.MessageItemRequestBuilderGetQueryParameters(
        expand=["attachments($select=id,name,contentType,size,isInline)"]
    )
    whole = strict(await item.get(asked(names, **PREFER)))
    assert whole.id == one.id
    assert whole.from_.email_address.name == "Zoë Müller"
    assert [(part.name, part.is_inline) for part in whole.attachments] == [
        ("leäse.pdf", False),
        ("l.png", True),
    ]
    assert all(part.content_bytes is None for part in whole.attachments)
    listed = strict(
        await item.attachments.get(
            asked(Attachments.AttachmentsRequestBuilderGetQueryParameters(select=["id", "name"]))
        )
    )
    part = strict(await item.attachments.by_attachment_id(listed.value[0].id).get())
    assert isinstance(part, FileAttachment)
    assert part.content_bytes is not None
    assert b"Lease 7" in (await item.content.get()) or b"=?utf-8?" in (await item.content.get())
    await refused(
        client.me.messages.by_message_id("AAMk" + "x" * 80).get(), 404, "ErrorItemNotFound"
    )
    await refused(client.me.messages.by_message_id("a/b c").get(), 400, "ErrorInvalidIdMalformed")
    user = strict(await client.me.get())
    same = strict(await client.users.by_user_id(user.id).messages.get())
    assert len(same.value) == 10
    return one.id


async def writing(client, facts, immutable_id):
    sent = Message(
        subject="Grüße =?x?=",
        body=ItemBody(content_type=BodyType.Html, content="<p>Hi</p>"),
        to_recipients=[person("me@provider-a.example", "Neighbour")],
        bcc_recipients=[person("secret@x.test")],
        importance=Importance.High,
        attachments=[
            FileAttachment(name="a.txt", content_type="text/plain", content_bytes=b"aGk=")
        ],
    )
    await client.me.send_mail.post(SendMailPostRequestBody(message=sent, save_to_sent_items=True))
    folder = client.me.mail_folders.by_mail_folder_id("sentitems")
    newest = FolderMessages.MessagesRequestBuilderGetQueryParameters(
        top=1, orderby=["receivedDateTime desc"]
    )
    (kept,) = strict(await folder.messages.get(asked(newest))).value
    assert (kept.subject, kept.importance) == ("Grüße =?x?=", Importance.High)
    assert kept.bcc_recipients[0].email_address.address == "secret@x.test"
    assert kept.has_attachments

    draft = strict(await client.me.messages.post(Message(subject="Draft"), asked(**PREFER)))
    assert draft.is_draft
    assert draft.from_ is None
    item = client.me.messages.by_message_id(draft.id)
    changed = strict(
        await item.patch(
            Message(
                to_recipients=[person("me@provider-a.example")],
                internet_message_id="<mine@agw.example>",
                body=ItemBody(content_type=BodyType.Text, content="plain"),
            ),
            asked(**PREFER),
        )
    )
    assert changed.internet_message_id == "<mine@agw.example>"
    strict(await item.attachments.post(FileAttachment(name="b.txt", content_bytes=b"aGk=")))
    await item.send.post()
    after = strict(await item.get(asked(**PREFER)))
    assert (after.is_draft, after.id, after.has_attachments) == (False, draft.id, True)

    original = client.me.messages.by_message_id(immutable_id)
    await original.reply.post(ReplyPostRequestBody(comment="Thanks"))
    reply = strict(await original.create_reply_all.post(CreateReplyPostRequestBody(comment="All")))
    assert reply.subject.startswith("RE: Lease 7")
    assert {recipient.email_address.address for recipient in reply.to_recipients} == {
        "zoe@x.test",
        "bob@y.test",
    }
    assert [recipient.email_address.address for recipient in reply.cc_recipients] == ["carl@z.test"]
    await client.me.messages.by_message_id(reply.id).send.post()
    await original.forward.post(
        ForwardPostRequestBody(comment="See", to_recipients=[person("me@provider-a.example")])
    )
    (kept,) = strict(await folder.messages.get(asked(newest))).value
    assert kept.subject.startswith("FW: Lease 7")
    assert kept.has_attachments
    both = ReplyPostRequestBody(
        comment="a", message=Message(body=ItemBody(content_type=BodyType.Text, content="b"))
    )
    await refused(original.reply.post(both), 400, "ErrorInvalidRequest")


async def changing(client, immutable_id):
    item = client.me.messages.by_message_id(immutable_id)
    before = strict(await item.get())
    tag = before.additional_data["@odata.etag"]
    change = Message(is_read=True, categories=["Home", "Täglich"])
    changed = strict(await item.patch(change, asked(If_Match=tag)))
    assert (changed.is_read, changed.categories) == (True, ["Home", "Täglich"])
    await refused(item.patch(change, asked(If_Match=tag)), 412, "ErrorIrresolvableConflict")

    moved = strict(await item.move.post(MovePostRequestBody(destination_id="deleteditems")))
    assert moved.id not in {immutable_id, before.id}
    await refused(client.me.messages.by_message_id(before.id).get(), 404, "ErrorItemNotFound")
    assert strict(await item.get(asked(**PREFER))).id == immutable_id

    folder = strict(await client.me.mail_folders.post(MailFolder(display_name="Flat")))
    copied = strict(await item.copy.post(MovePostRequestBody(destination_id=folder.id)))
    assert copied.parent_folder_id == folder.id
    await client.me.messages.by_message_id(copied.id).delete()
    await refused(client.me.messages.by_message_id(copied.id).get(), 404, "ErrorItemNotFound")
    inside = client.me.mail_folders.by_mail_folder_id("inbox").messages
    page = await inside.delta.get()
    while page.odata_next_link:
        page = await inside.delta.with_url(page.odata_next_link).get()
    await client.me.messages.by_message_id(immutable_id).move.post(
        MovePostRequestBody(destination_id="inbox")
    )
    page = await inside.delta.with_url(page.odata_delta_link).get()
    assert len(page.value) == 1
    assert (await client.me.mail_folders.delta.get()).value
    folders = strict(await client.me.mail_folders.get())
    assert "Flat" in [entry.display_name for entry in folders.value]
    made = strict(
        await client.me.outlook.master_categories.post(OutlookCategory(display_name="Blue"))
    )
    assert made.display_name == "Blue"
    assert len(strict(await client.me.outlook.master_categories.get()).value) == 2


async def batches(client, facts):
    control(
        facts,
        "PUT",
        "/faults/provider-b",
        {"kind": "429", "count": 1, "retryAfter": 3, "match": "mailFolders"},
    )
    batch = BatchRequestContent()
    query = Many.MessagesRequestBuilderGetQueryParameters(top=1)
    steps = {
        "list": client.me.messages.to_get_request_information(asked(query)),
        "missing": client.me.messages.by_message_id("x").to_get_request_information(),
        "throttled": client.me.mail_folders.to_get_request_information(),
    }
    names = {}
    for name, information in steps.items():
        information.path_parameters["baseurl"] = client.request_adapter.base_url
        step = BatchRequestItem(information)
        names[name] = step.id
        batch.add_request(step.id, step)
    late = BatchRequestItem(steps["list"], depends_on=[names["missing"]])
    batch.add_request(late.id, late)
    answers = await client.batch.post(batch)
    statuses = answers.get_response_status_codes()
    assert {name: statuses[step] for name, step in names.items()} == {
        "list": 200,
        "missing": 400,
        "throttled": 429,
    }
    assert statuses[late.id] == 424
    # This release of the client reads bodies of parts only if they are base64 texts; `check_answer`
    # checks JSON bodies when they arrive.


async def throttled(client, facts):
    control(facts, "DELETE", "/calls/provider-b")
    control(facts, "PUT", "/faults/provider-b", {"kind": "429", "count": 1, "retryAfter": 1})
    before = time.monotonic()
    assert len((await client.me.messages.get()).value) == 10
    assert time.monotonic() - before >= 1
    calls = control(facts, "GET", "/calls/provider-b")["calls"]
    assert [call["fault"] for call in calls] == ["429", None]
    assert all("authorization" not in call["headers"] for call in calls)


async def permissions(facts):
    reader, _ = connect(facts, facts["reader"])
    assert len((await reader.me.messages.get()).value) == 10
    await refused(
        reader.me.send_mail.post(SendMailPostRequestBody(message=Message(subject="x"))),
        403,
        "ErrorAccessDenied",
    )
    nobody, _ = connect(facts, "nonsense")
    await refused(nobody.me.messages.get(), 401, "InvalidAuthenticationToken")
    app, _ = connect(facts, facts["application"])
    await refused(app.me.messages.get(), 400, "BadRequest")
    assert (await app.users.by_user_id("me@provider-b.example").messages.get()).value


async def sharing(facts):
    """Read a shared mailbox and send from it; the person's own mailbox has nothing of it."""
    client, _ = connect(facts, facts["shared"])
    team = client.users.by_user_id("team@provider-b.example")
    (message,) = strict(await team.messages.get()).value
    assert message.subject == "Lease 91 – café"
    address = EmailAddress(address="team@provider-b.example")
    draft = await team.messages.post(
        Message(
            subject="From the team",
            from_=Recipient(email_address=address),
            to_recipients=[Recipient(email_address=EmailAddress(address="ann@x.test"))],
        )
    )
    await team.messages.by_message_id(draft.id).send.post()
    (sent,) = (await team.mail_folders.by_mail_folder_id("sentitems").messages.get()).value
    assert sent.from_.email_address.address == sent.sender.email_address.address == address.address
    own = (await client.me.mail_folders.by_mail_folder_id("sentitems").messages.get()).value
    assert sent.subject not in {message.subject for message in own}
    alone, _ = connect(facts, facts["token"])
    unscoped = alone.users.by_user_id("team@provider-b.example")
    await refused(unscoped.messages.get(), 403, "ErrorAccessDenied")
    nobody = client.users.by_user_id("nobody@provider-b.example")
    await refused(nobody.messages.get(), 404, "ErrorInvalidUser")


class Local(requests.Session):
    """Session that sends MSAL's https requests to the sandbox's identity server by http."""

    def __init__(self, base):
        super().__init__()
        self.base = base

    def request(self, method, url, *rest, **more):
        more["headers"] = {**(more.get("headers") or {}), "Host": "login.microsoftonline.com"}
        local = url.replace("https://login.microsoftonline.com", f"{self.base}/oauth/provider-b")
        return super().request(method, local, *rest, **more)


async def identity(facts):
    def application():
        return msal.ConfidentialClientApplication(
            "client",
            client_credential="secret",
            authority="https://login.microsoftonline.com/tenant-1",
            instance_discovery=False,
            http_client=Local(facts["url"]),
        )

    scopes = ["https://graph.microsoft.com/.default"]
    app = application().acquire_token_for_client(scopes)
    assert app["token_type"] == "Bearer", app
    assert "refresh_token" not in app
    fresh = application().acquire_token_by_refresh_token(facts["refresh"], scopes=["Mail.Read"])
    assert "access_token" in fresh, fresh
    client, _ = connect(facts, fresh["access_token"])
    assert (await client.me.messages.get()).value
    again = application().acquire_token_by_refresh_token(facts["refresh"], scopes=["Mail.Read"])
    assert again["error"] == "invalid_grant", again


async def main():
    with served(Path(__file__).with_name("seed.py")) as facts:
        client, adapter = connect(facts, facts["token"])
        await lists(client, adapter)
        immutable_id = await reading(client)
        await writing(client, facts, immutable_id)
        await changing(client, immutable_id)
        await batches(client, facts)
        await throttled(client, facts)
        await permissions(facts)
        await sharing(facts)
        await identity(facts)
        diary, _ = connect(facts, facts["calendar"])
        await calendar_checks.agree(diary, facts["meetings"], asked, strict, refused)
        reader, _ = connect(facts, facts["reading"])
        await calendar_checks.sharing(reader, asked, strict, refused)
        kinds = control(facts, "GET", "/calls/provider-b")
        assert kinds is not None
    print(
        f"provider B agrees: {SEEN['answers']} answers, {SEEN['checked']} records against the"
        f" published types, {SEEN['models']} models without unknown members"
    )


asyncio.run(main())
