"""Provider B's mail: lists in both modes, single messages, changes, moves."""

import pytest

MESSAGES = "/me/messages"
IMMUTABLE = {"Prefer": 'IdType="ImmutableId"'}


def subjects(response):
    assert response.status_code == 200, response.text
    return [message["subject"] for message in response.json()["value"]]


@pytest.fixture
def letters(world):
    """Four messages in the inbox and one in each of three other folders, oldest first."""
    world.arrive("Lease", minute=0, labels=("Home", "Red"), files={"lease.pdf": b"pdf!"})
    world.arrive("Menu", minute=1, sender="Bob <bob@y.test>", is_read=True, image=b"png")
    world.arrive("It's late", minute=2, html="<p>An <b>invoice</b></p>")
    world.arrive("Lease signed", minute=3, headers={"Importance": "high"}, labels=("home",))
    world.arrive("Half a letter", minute=4, folder="drafts", is_read=True)
    world.arrive("Old news", minute=5, folder="trash")
    world.arrive("Win now", minute=6, folder="spam")
    return world


async def test_a_list_spans_every_folder_newest_first(client, letters):
    response = await client.get(MESSAGES, params={"$select": "subject"})

    assert subjects(response) == [
        "Win now",
        "Old news",
        "Half a letter",
        "Lease signed",
        "It's late",
        "Menu",
        "Lease",
    ]
    assert "@odata.nextLink" not in response.json()


DATED = "receivedDateTime ge 1900-01-01T00:00:00Z"
NEWEST = "receivedDateTime desc"


@pytest.mark.parametrize(
    ("clause", "found"),
    [
        ("receivedDateTime lt 2026-01-05T08:02:00Z", ["Menu", "Lease"]),
        ("from/emailAddress/address eq 'BOB@y.test'", ["Menu"]),
        ("contains(subject,'it''s')", ["It's late"]),
        ("startswith(subject,'lease')", ["Lease signed", "Lease"]),
        ("categories/any(c:c eq 'HOME')", ["Lease signed", "Lease"]),
        ("isRead eq true", ["Half a letter", "Menu"]),
        ("hasAttachments eq true", ["Lease"]),
        ("isDraft eq true", ["Half a letter"]),
        ("importance eq 'high'", ["Lease signed"]),
        ("importance in ('high','low')", ["Lease signed"]),
        ("not (isRead eq false)", ["Half a letter", "Menu"]),
        ("(subject eq 'menu' or subject eq 'lease')", ["Menu", "Lease"]),
        ("subject eq 'nothing'", []),
    ],
)
async def test_a_filter_restricts_an_ordered_list(client, letters, clause, found):
    params = {"$filter": f"{DATED} and {clause}", "$orderby": NEWEST, "$count": "true"}
    response = await client.get(MESSAGES, params=params)

    assert subjects(response) == found
    assert response.json()["@odata.count"] == len(found)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ('"lease"', ["Lease signed", "Lease"]),
        ('"leas"', ["Lease signed", "Lease"]),
        ('"invoice"', ["It's late"]),
        ('"\\"lease signed\\""', ["Lease signed"]),
        ('"from:bob@y.test"', ["Menu"]),
        ('"to:me@provider-b.example subject:menu"', ["Menu"]),
        ('"recipients:me@provider-b.example menu"', ["Menu"]),
        ('"hasAttachments:true"', ["Lease"]),
        ('"attachment:lease"', ["Lease"]),
        ('"importance:high"', ["Lease signed"]),
        ('"lease NOT signed"', ["Lease"]),
        ('"menu OR signed"', ["Lease signed", "Menu"]),
        ('"received>=2026-01-06"', []),
        ('"received>=2026-01-05 AND received<=2026-01-05 menu"', ["Menu"]),
        ("menu", ["Menu"]),
    ],
)
async def test_a_search_finds_words_and_properties(client, letters, search, found):
    response = await client.get(MESSAGES, params={"$search": search, "$count": "true"})

    assert subjects(response) == found
    assert "@odata.count" not in response.json()


async def test_a_search_is_sorted_by_the_time_of_sending(client, world):
    world.arrive("word late", minute=1, headers={"Date": "Mon, 05 Jan 2026 01:00:00 +0000"})
    world.arrive("word early", minute=0, headers={"Date": "Mon, 05 Jan 2026 02:00:00 +0000"})

    response = await client.get(MESSAGES, params={"$search": '"word"'})

    assert subjects(response) == ["word early", "word late"]


REFUSED = {
    "a search with an order": ({"$search": '"a"', "$orderby": NEWEST}, "SearchWithOrderBy"),
    "a search with a filter": ({"$search": '"a"', "$filter": "isRead eq true"}, "SearchWithFilter"),
    "a search with a skip": ({"$search": '"a"', "$skip": "1"}, "SearchWithSkip"),
    "a search without quotes": ({"$search": "from:a"}, "BadRequest"),
    "an empty search": ({"$search": '""'}, "BadRequest"),
    "an order that is not in the filter": (
        {"$filter": "isRead eq true", "$orderby": NEWEST},
        "InefficientFilter",
    ),
    "an order that is not first in the filter": (
        {"$filter": f"isRead eq true and {DATED}", "$orderby": NEWEST},
        "InefficientFilter",
    ),
    "a conversation in order": (
        {"$filter": "conversationId eq 'AAQ'", "$orderby": NEWEST},
        "InefficientFilter",
    ),
    "too many clauses": (
        {"$filter": " or ".join(f"subject eq '{n}'" for n in range(16))},
        "InefficientFilter",
    ),
    "recipients in a filter": (
        {"$filter": "toRecipients/any(r:r/emailAddress/address eq 'a@x.test')"},
        "ErrorInvalidUrlQueryFilter",
    ),
    "a date in quotes": (
        {"$filter": "receivedDateTime ge '2026-01-01T00:00:00Z'"},
        "RequestBroker--ParseUri",
    ),
    "an unknown property in a filter": ({"$filter": "unread eq true"}, "RequestBroker--ParseUri"),
    "an unknown property in a selection": ({"$select": "id,foo"}, "RequestBroker--ParseUri"),
    "an unknown property in an order": ({"$orderby": "foo"}, "RequestBroker--ParseUri"),
    "an unknown expansion": ({"$expand": "foo"}, "RequestBroker--ParseUri"),
    "an expansion of a plain property": ({"$expand": "subject"}, "RequestBroker--ParseUri"),
    "a member of files selected on the base type": (
        {"$expand": "attachments($select=contentBytes)"},
        "RequestBroker--ParseUri",
    ),
    "a top of none": ({"$top": "0"}, "RequestBroker--ParseUri"),
    "a top over a thousand": ({"$top": "1001"}, "RequestBroker--ParseUri"),
    "a top that is no number": ({"$top": "ten"}, "RequestBroker--ParseUri"),
    "a count that is no yes or no": ({"$count": "1"}, "RequestBroker--ParseUri"),
    "an unknown option": ({"$foo": "1"}, "RequestBroker--ParseUri"),
}


@pytest.mark.parametrize("label", REFUSED)
async def test_a_list_refuses(client, letters, label):
    params, code = REFUSED[label]
    response = await client.get(MESSAGES, params=params)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)


async def test_pages_follow_with_every_parameter_kept(client, letters):
    params = {"$filter": DATED, "$orderby": NEWEST, "$top": "3", "$select": "subject", "x": "a b"}
    first = await client.get(MESSAGES, params=params)
    link = first.json()["@odata.nextLink"]
    second = await client.get(link)
    third = await client.get(second.json()["@odata.nextLink"])

    assert link == (
        "http://sandbox.test/provider-b/v1.0/me/messages"
        "?$filter=receivedDateTime%20ge%201900-01-01T00%3A00%3A00Z"
        "&$orderby=receivedDateTime%20desc&$top=3&$select=subject&x=a%20b&$skip=3"
    )
    assert subjects(first) + subjects(second) + subjects(third) == [
        "Win now",
        "Old news",
        "Half a letter",
        "Lease signed",
        "It's late",
        "Menu",
        "Lease",
    ]
    assert "@odata.nextLink" not in third.json()


async def test_pages_of_a_search_follow_by_an_opaque_token(client, letters):
    first = await client.get(MESSAGES, params={"$search": '"lease"', "$top": "1"})
    link = first.json()["@odata.nextLink"]
    second = await client.get(link)

    assert "$skiptoken=" in link
    assert "$skip=" not in link
    assert subjects(first) + subjects(second) == ["Lease signed", "Lease"]
    assert "@odata.nextLink" not in second.json()


async def test_options_are_known_in_any_case(client, letters):
    params = {"$FILTER": "isDraft eq true", "$Select": "subject"}

    assert len(subjects(await client.get(MESSAGES, params={"$select": "subject"}))) == 7
    assert subjects(await client.get(MESSAGES, params=params)) == ["Half a letter"]


async def test_ten_messages_are_a_page_unless_told_otherwise(client, world):
    for number in range(12):
        world.arrive(f"n{number}", minute=number)

    assert len(subjects(await client.get(MESSAGES))) == 10
    assert len(subjects(await client.get(MESSAGES, params={"$top": "1000"}))) == 12
    sized = await client.get(MESSAGES, headers={"Prefer": "odata.maxpagesize=4"})
    assert len(subjects(sized)) == 4


@pytest.mark.slow
async def test_a_search_ends_after_a_thousand_results(client, world):
    for number in range(1001):
        world.arrive(f"n{number} word", minute=number)

    found = await client.get(MESSAGES, params={"$search": '"word"', "$top": "1000"})

    assert len(subjects(found)) == 1000
    assert "@odata.nextLink" not in found.json()


async def test_a_message_has_the_members_of_the_wire(client, world):
    mail = world.arrive(
        "Lease",
        sender='"Miller, Ann" <ann@x.test>',
        to="me@provider-b.example, Zoë <zoe@x.test>",
        headers={
            "Cc": "c@x.test",
            "Reply-To": "r@x.test",
            "Date": "Mon, 05 Jan 2026 09:00:00 +0100",
        },
        body="First line\nsecond",
        labels=("Home",),
    )
    response = await client.get(f"{MESSAGES}/{mail.id}")
    body = response.json()

    assert list(body)[:3] == ["@odata.context", "@odata.etag", "id"]
    assert response.headers["etag"] == body["@odata.etag"]
    expected = {
        "id": mail.id,
        "conversationId": mail.thread_id,
        "subject": "Lease",
        "sentDateTime": "2026-01-05T08:00:00Z",
        "receivedDateTime": "2026-01-05T08:00:00Z",
        "from": {"emailAddress": {"name": "Miller, Ann", "address": "ann@x.test"}},
        "toRecipients": [
            {"emailAddress": {"name": "me@provider-b.example", "address": "me@provider-b.example"}},
            {"emailAddress": {"name": "Zoë", "address": "zoe@x.test"}},
        ],
        "ccRecipients": [{"emailAddress": {"name": "c@x.test", "address": "c@x.test"}}],
        "bccRecipients": [],
        "replyTo": [{"emailAddress": {"name": "r@x.test", "address": "r@x.test"}}],
        "bodyPreview": "First line second",
        "isRead": False,
        "isDraft": False,
        "hasAttachments": False,
        "categories": ["Home"],
        "importance": "normal",
        "internetMessageId": "<Lease@x.test>",
        "flag": {"flagStatus": "notFlagged"},
    }
    assert {name: body[name] for name in expected} == expected
    assert body["body"]["contentType"] == "html"
    assert "First line<br>\r\nsecond" in body["body"]["content"]
    assert "internetMessageHeaders" not in body


async def test_a_selection_brings_id_and_etag_and_nothing_else(client, world):
    mail = world.arrive("Lease")
    one = await client.get(f"{MESSAGES}/{mail.id}", params={"$select": "subject"})

    assert set(one.json()) == {"@odata.context", "@odata.etag", "id", "subject"}


@pytest.mark.parametrize(
    ("prefer", "kind", "content"),
    [
        ('outlook.body-content-type="text"', "text", "Hello\nbig world"),
        ('outlook.body-content-type="html"', "html", "<p>Hello</p><div>big <b>world</b></div>"),
        ("", "html", "<p>Hello</p><div>big <b>world</b></div>"),
    ],
)
async def test_the_body_comes_in_the_preferred_type(client, world, prefer, kind, content):
    mail = world.arrive("x", body="plain", html="<p>Hello</p><div>big <b>world</b></div>\n")
    response = await client.get(
        f"{MESSAGES}/{mail.id}",
        params={"$select": "body"},
        headers={"Prefer": prefer} if prefer else {},
    )

    assert response.json()["body"]["contentType"] == kind
    assert response.json()["body"]["content"].strip() == content
    assert response.headers.get("preference-applied", "") == prefer


async def test_a_preview_ends_after_255_characters(client, world):
    mail = world.arrive("x", body="é" * 300)
    response = await client.get(f"{MESSAGES}/{mail.id}")

    assert response.json()["bodyPreview"] == "é" * 255


async def test_both_id_spaces_name_a_message_and_a_move_keeps_the_immutable_one(client, world):
    mail = world.arrive("Lease")
    both = 'outlook.body-content-type="text", IdType="ImmutableId"'
    immutable = await client.get(f"{MESSAGES}/{mail.id}", headers={"Prefer": both})
    moved = await client.post(
        f"{MESSAGES}/{mail.id}/move", json={"destinationId": "deleteditems"}, headers=IMMUTABLE
    )
    plain = await client.get(f"{MESSAGES}/{mail.immutable_id}")

    assert immutable.json()["id"] == moved.json()["id"] == mail.immutable_id
    assert immutable.headers["preference-applied"] == both
    assert moved.status_code == 201
    assert plain.json()["id"] not in (mail.id, mail.immutable_id)
    assert (await client.get(f"{MESSAGES}/{mail.id}")).status_code == 404
    assert [message.folder for message in world.all()] == ["trash"]


async def test_a_copy_is_a_message_of_its_own(client, world):
    mail = world.arrive("Lease", labels=("Home",), is_read=True)
    copied = await client.post(f"{MESSAGES}/{mail.id}/copy", json={"DestinationId": "archive"})

    assert copied.status_code == 201
    assert copied.json()["id"] != mail.id
    assert copied.json()["conversationId"] == mail.thread_id
    assert copied.json()["categories"] == ["Home"]
    assert sorted(message.folder for message in world.all()) == ["archive", "inbox"]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "ErrorInvalidRequest"),
        ({"destinationId": "nowhere"}, 400, "ErrorInvalidIdMalformed"),
        ({"destinationId": f"AAMk{'A' * 80}="}, 404, "ErrorItemNotFound"),
    ],
)
async def test_a_move_refuses(client, world, body, status, code):
    mail = world.arrive("Lease")
    response = await client.post(f"{MESSAGES}/{mail.id}/move", json=body)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert [message.id for message in world.all(folder="inbox")] == [mail.id]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        (lambda text: text.swapcase(), 400, "ErrorInvalidIdMalformed"),
        (lambda text: text[:-12] + text[-12:-7].swapcase() + text[-7:], 404, "ErrorItemNotFound"),
        (lambda text: text[:20], 400, "ErrorInvalidIdMalformed"),
        (lambda text: "1" + text, 400, "ErrorInvalidIdMalformed"),
        (lambda text: text + "%20", 400, "ErrorInvalidIdMalformed"),
    ],
    ids=["another case", "another case inside", "cut off", "another beginning", "a blank"],
)
async def test_ids_are_compared_exactly(client, world, change, status, code):
    mail = world.arrive("Lease")
    response = await client.get(f"{MESSAGES}/{change(mail.id)}")

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


async def test_a_change_answers_with_the_message_and_a_new_tag(client, world):
    mail = world.arrive("Lease", labels=("Old",))
    before = (await client.get(f"{MESSAGES}/{mail.id}")).json()["@odata.etag"]
    change = {"isRead": True, "categories": ["Blue", "new one"], "flag": {"flagStatus": "flagged"}}
    changed = await client.patch(f"{MESSAGES}/{mail.id}", json=change, headers={"If-Match": before})

    assert changed.status_code == 200
    assert {name: changed.json()[name] for name in change} == change
    assert changed.json()["@odata.etag"] != before
    (stored,) = world.all()
    assert (stored.is_read, stored.labels, stored.is_starred) == (True, ("Blue", "new one"), True)


async def test_a_stale_etag_is_rejected(client, world):
    mail = world.arrive("Lease")
    tag = (await client.get(f"{MESSAGES}/{mail.id}")).json()["@odata.etag"]
    await client.patch(f"{MESSAGES}/{mail.id}", json={"isRead": True})

    late = {"If-Match": tag}
    patched = await client.patch(f"{MESSAGES}/{mail.id}", json={"isRead": False}, headers=late)
    deleted = await client.delete(f"{MESSAGES}/{mail.id}", headers=late)

    assert patched.status_code == deleted.status_code == 412
    assert patched.json()["error"]["code"] == "ErrorIrresolvableConflict"
    assert [message.is_read for message in world.all()] == [True]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"subject": "new"}, "ErrorInvalidPropertySet"),
        ({"isread": True}, "RequestBodyRead"),
        ({"isRead": "yes"}, "RequestBodyRead"),
        ({"categories": "Home"}, "RequestBodyRead"),
        ({"importance": "urgent"}, "RequestBodyRead"),
        ({"isRead": True, "importance": "urgent"}, "RequestBodyRead"),
    ],
)
async def test_a_change_refuses_and_changes_nothing(client, world, change, code):
    mail = world.arrive("Lease")
    response = await client.patch(f"{MESSAGES}/{mail.id}", json=change)

    assert (response.status_code, response.json()["error"]["code"]) == (400, code)
    assert world.all() == [mail]


async def test_importance_of_a_received_message_can_be_changed(client, world):
    mail = world.arrive("Lease", headers={"Importance": "high"}, body="kept")
    changed = await client.patch(f"{MESSAGES}/{mail.id}", json={"importance": "low"})

    assert changed.json()["importance"] == "low"
    assert (changed.json()["subject"], changed.json()["bodyPreview"]) == ("Lease", "kept")


async def test_a_deleted_message_is_gone_from_every_list(client, world):
    mail = world.arrive("Lease")
    response = await client.delete(f"{MESSAGES}/{mail.id}")

    assert (response.status_code, response.content) == (204, b"")
    assert subjects(await client.get(MESSAGES)) == []
    assert (await client.delete(f"{MESSAGES}/{mail.id}")).status_code == 404


async def test_mime_is_the_message_as_it_came(client, world):
    mail = world.arrive("Lease")
    response = await client.get(f"{MESSAGES}/{mail.id}/$value")

    assert response.content == mail.raw


async def test_attachments_bring_content_only_when_it_is_asked_for(client, world):
    mail = world.arrive("Lease", files={"lease.pdf": b"pdf!"}, image=b"png")
    path = f"{MESSAGES}/{mail.id}/attachments"
    names = "id,name,contentType,size,isInline"
    whole = (await client.get(path)).json()["value"]
    light = (await client.get(path, params={"$select": names})).json()["value"]
    cast = "microsoft.graph.fileAttachment/contentBytes"
    heavy = (await client.get(path, params={"$select": f"name,{cast}"})).json()["value"]
    expanded = await client.get(
        f"{MESSAGES}/{mail.id}",
        params={
            "$select": "id",
            "$expand": f"attachments($select={names};$filter=isInline eq false)",
        },
    )

    assert [(message["name"], message["isInline"], message["size"]) for message in light] == [
        ("logo.png", True, 3),
        ("lease.pdf", False, 4),
    ]
    assert [message["contentBytes"] for message in whole] == ["cG5n", "cGRmIQ=="]
    assert all("contentBytes" not in message for message in light)
    assert [message["contentBytes"] for message in heavy] == ["cG5n", "cGRmIQ=="]
    assert [attachment["name"] for attachment in expanded.json()["attachments"]] == ["lease.pdf"]
    assert "contentBytes" not in expanded.json()["attachments"][0]

    one = await client.get(f"{path}/{light[1]['id']}", params={"$select": "name"})
    assert one.json()["name"] == "lease.pdf"
    assert (await client.get(f"{path}/{light[1]['id']}/$value")).content == b"pdf!"
    assert (await client.get(f"{path}/AAMk{'A' * 70}")).status_code == 404


async def test_inline_images_alone_are_no_attachments(client, world):
    mail = world.arrive("Logo", image=b"png")
    response = await client.get(f"{MESSAGES}/{mail.id}")

    assert response.json()["hasAttachments"] is False


async def test_a_conversation_is_filtered_without_an_order(client, world):
    first = world.arrive("Lease", minute=5)
    world.arrive("Re Lease", minute=1, headers={"In-Reply-To": "<Lease@x.test>"}, folder="sent")
    world.arrive("Other", minute=2)

    found = await client.get(
        MESSAGES, params={"$filter": f"conversationId eq '{first.thread_id}'", "$top": "50"}
    )
    other_case = await client.get(
        MESSAGES, params={"$filter": f"conversationId eq '{first.thread_id.swapcase()}'"}
    )

    assert sorted(subjects(found)) == ["Lease", "Re Lease"]
    assert subjects(other_case) == []


async def test_folders_have_well_known_names_and_counts(client, letters):
    inbox = (await client.get("/me/mailFolders/inbox")).json()
    by_id = (await client.get(f"/me/mailFolders/{inbox['id']}")).json()
    page = await client.get(
        "/me/mailFolders", params={"$top": "50", "$select": "displayName,totalItemCount"}
    )

    assert (inbox["displayName"], inbox["totalItemCount"], inbox["unreadItemCount"]) == (
        "Inbox",
        4,
        3,
    )
    assert by_id == inbox
    assert {
        message["displayName"]: message["totalItemCount"] for message in page.json()["value"]
    } == {
        "Archive": 0,
        "Deleted Items": 1,
        "Drafts": 1,
        "Inbox": 4,
        "Junk Email": 1,
        "Outbox": 0,
        "Sent Items": 0,
    }
    assert subjects(await client.get("/me/mailFolders/deleteditems/messages")) == ["Old news"]
    assert subjects(await client.get("/me/mailFolders('inbox')/messages?$top=1")) == [
        "Lease signed"
    ]
    assert (await client.get(f"{MESSAGES}/$count")).text == "7"
    assert (await client.get("/me/mailFolders/nope")).status_code == 400


async def test_a_folder_can_be_made_and_filled(client, world):
    mail = world.arrive("Lease")
    made = await client.post("/me/mailFolders", json={"displayName": "Flat"})
    again = await client.post("/me/mailFolders", json={"displayName": "flat"})
    below = await client.post(
        f"/me/mailFolders/{made.json()['id']}/childFolders", json={"displayName": "Rent"}
    )
    moved = await client.post(
        f"{MESSAGES}/{mail.id}/move", json={"destinationId": made.json()["id"]}
    )

    assert (made.status_code, again.status_code, below.status_code) == (201, 409, 201)
    assert again.json()["error"]["code"] == "ErrorFolderExists"
    assert moved.json()["parentFolderId"] == made.json()["id"]
    found = await client.get(f"/me/mailFolders/{made.json()['id']}")
    assert (found.json()["totalItemCount"], found.json()["childFolderCount"]) == (1, 1)


async def test_the_user_and_the_categories_can_be_read(client, world):
    user = (await client.get("/me")).json()
    same = (await client.get(f"/users/{user['id']}?$select=mail")).json()
    by_name = await client.get("/users/ME@provider-b.example/messages")
    made = await client.post(
        "/me/outlook/masterCategories", json={"displayName": "Flat", "color": "preset3"}
    )
    again = await client.post("/me/outlook/masterCategories", json={"displayName": "flat"})
    listed = await client.get("/me/outlook/masterCategories")

    assert user["mail"] == user["userPrincipalName"] == "me@provider-b.example"
    assert same["mail"] == user["mail"]
    assert by_name.status_code == 200
    assert (made.status_code, again.status_code) == (201, 409)
    assert [(message["displayName"], message["color"]) for message in listed.json()["value"]] == [
        ("Flat", "preset3")
    ]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/users/nobody@x.test", 404, "Request_ResourceNotFound"),
        ("/users/nobody@x.test/messages", 404, "ErrorInvalidUser"),
        ("/me/nothing", 404, "ErrorItemNotFound"),
    ],
)
async def test_what_is_not_there_is_not_found(client, path, status, code):
    response = await client.get(path)

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


READER = ("Mail.Read",)
NEEDED = {
    "reading with no scope": ((), "GET", "/me/messages", 403),
    "reading with the read scope": (READER, "GET", "/me/messages", 200),
    "reading with a scope as an address": (
        ("https://graph.example/Mail.Read",),
        "GET",
        "/me/messages",
        200,
    ),
    "changing with the read scope": (READER, "PATCH", "/me/messages/{id}", 403),
    "deleting with the read scope": (READER, "DELETE", "/me/messages/{id}", 403),
    "moving with the read scope": (READER, "POST", "/me/messages/{id}/move", 403),
    "sending with the write scope": (("Mail.ReadWrite",), "POST", "/me/sendMail", 403),
    "replying with the write scope": (("Mail.ReadWrite",), "POST", "/me/messages/{id}/reply", 403),
    "drafting with the send scope": (("Mail.Send",), "POST", "/me/messages", 403),
    "categories with mail scopes": (READER, "GET", "/me/outlook/masterCategories", 403),
    "the user with mail scopes": (READER, "GET", "/me", 403),
}


@pytest.mark.parametrize("label", NEEDED)
async def test_a_call_needs_its_scope(client_with, world, label):
    scopes, method, path, status = NEEDED[label]
    mail = world.arrive("Lease")
    response = await client_with(*scopes).request(
        method, path.format(id=mail.id), json={} if method in ("POST", "PATCH") else None
    )

    assert response.status_code == status
    if status == 403:
        assert response.json()["error"]["code"] in (
            "ErrorAccessDenied",
            "Authorization_RequestDenied",
        )
        assert world.all() == [mail]


async def test_the_basic_scope_shows_no_bodies(client_with, world):
    mail = world.arrive("Lease", files={"a.pdf": b"a"})
    basic = client_with("Mail.ReadBasic")
    one = (await basic.get(f"{MESSAGES}/{mail.id}")).json()

    assert one["subject"] == "Lease"
    assert not {"body", "bodyPreview", "uniqueBody"} & set(one)
    assert (await basic.get(f"{MESSAGES}/{mail.id}/attachments")).status_code == 403


async def test_an_application_has_no_me(client_with, world):
    world.arrive("Lease")
    app = client_with("Mail.Read", app_only=True)
    mine = await app.get(MESSAGES)

    assert (mine.status_code, mine.json()["error"]) == (
        400,
        {
            "code": "BadRequest",
            "message": "/me request is only valid with delegated authentication flow.",
            "innerError": mine.json()["error"]["innerError"],
        },
    )
    assert subjects(await app.get("/users/me@provider-b.example/messages")) == ["Lease"]


@pytest.mark.parametrize("header", ["", "Bearer nonsense", "Basic abc"])
async def test_a_bad_credential_is_refused(client, header):
    response = await client.get(MESSAGES, headers={"Authorization": header})

    assert response.status_code == 401
    assert response.json()["error"]["code"] == "InvalidAuthenticationToken"
    assert response.headers["www-authenticate"].startswith("Bearer")


async def test_the_callers_request_id_is_echoed(client, world):
    given = {"client-request-id": "11111111-2222-3333-4444-555555555555"}
    good = await client.get(MESSAGES, headers=given)
    bad = await client.get(f"{MESSAGES}/x", headers=given)

    assert good.headers["client-request-id"] == given["client-request-id"]
    inner = bad.json()["error"]["innerError"]
    assert inner["client-request-id"] == given["client-request-id"]
    assert inner["request-id"] == bad.headers["request-id"] != given["client-request-id"]
