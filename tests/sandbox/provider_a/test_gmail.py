import base64
import json
from email.message import EmailMessage

import httpx
import pytest

from sandbox.app import create
from sandbox.mail.store import Account
from sandbox.provider_a.gmail.messages import LARGE_BODY

ME = "/provider-a/gmail/v1/users/me"
ACCOUNT = Account("me@x.test", "Me Myself")


def encoded(raw):
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def letter(subject="Lease", text="Hello <you> & 'me'", html=None, files=(), **headers):
    message = EmailMessage()
    message["From"] = headers.pop("From", "Ann <ann@y.test>")
    message["To"] = headers.pop("To", "me@x.test")
    message["Subject"] = subject
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    for name, content in files:
        message.add_attachment(content, maintype="application", subtype="pdf", filename=name)
    return message.as_bytes()


@pytest.fixture
def sandbox():
    sandbox = create(None, public_base="http://sandbox.test/sandbox")
    sandbox.state.mails.set_account("provider-a", ACCOUNT)
    sandbox.state.mails.set_account("provider-b", Account("me@b.test", "B"))
    return sandbox


@pytest.fixture
def mails(sandbox):
    return sandbox.state.mails


def client_of(sandbox, *scopes):
    token = sandbox.state.tokens.issue("providerA", ACCOUNT.email, scopes)
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=sandbox),
        base_url="http://sandbox.test",
        headers={"authorization": f"Bearer {token}"},
    )


@pytest.fixture
async def client(sandbox):
    async with client_of(sandbox, "https://www.googleapis.com/auth/gmail.modify") as client:
        yield client


def reason(answer):
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    return error["errors"][0]["reason"]


async def test_an_empty_list_has_no_messages_key(client):
    assert (await client.get(f"{ME}/messages")).json() == {"resultSizeEstimate": 0}
    assert (await client.get(f"{ME}/threads")).json() == {"resultSizeEstimate": 0}


async def test_pages_follow_each_other_though_mail_arrives_between(client, mails):
    kept = [mails.add("provider-a", letter(), folder="inbox", received_ms=at) for at in range(5)]
    seen, token = [], None
    for _ in range(3):
        query = {"maxResults": 2, **({"pageToken": token} if token else {})}
        page = (await client.get(f"{ME}/messages", params=query)).json()
        seen += [message["id"] for message in page["messages"]]
        token = page.get("nextPageToken")
        mails.add("provider-a", letter(), folder="inbox", received_ms=100)

    assert seen == [mail.id for mail in reversed(kept)]
    assert token is None


async def test_trash_and_spam_are_left_out_unless_asked_for(client, mails):
    for folder in ("inbox", "trash", "spam"):
        mails.add("provider-a", letter(folder), folder=folder)

    async def count(**query):
        answer = await client.get(f"{ME}/messages", params=query)
        return answer.json()["resultSizeEstimate"]

    assert await count() == 1
    assert await count(includeSpamTrash="true") == 3
    assert await count(q="in:anywhere") == 3
    assert await count(q="in:trash") == 1
    assert await count(labelIds="SPAM") == 1
    assert await count(labelIds=["INBOX", "UNREAD"]) == 1


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"maxResults": "x"}, "invalidArgument"),
        ({"pageToken": "!"}, "invalidArgument"),
        ({"fields": "messages(id"}, "invalidParameter"),
        ({"fields": "bogus"}, "invalidParameter"),
        ({"maxresults": "5"}, "invalid"),
    ],
    ids=[
        "a size that is no number",
        "a foreign page token",
        "broken fields",
        "unknown fields",
        "an unknown name",
    ],
)
async def test_a_bad_parameter_is_refused(client, query, expected):
    answer = await client.get(f"{ME}/messages", params=query)

    assert answer.status_code == 400
    assert reason(answer) == expected


async def test_each_format_has_its_members(client, mails):
    raw = letter(html="<p>Hi</p>", files=[("a.pdf", b"%PDF-1")])
    mail = mails.add("provider-a", raw, folder="inbox", received_ms=1_700_000_000_123)

    async def get(**query):
        return (await client.get(f"{ME}/messages/{mail.id}", params=query)).json()

    minimal = await get(format="minimal")
    assert minimal == {
        "id": mail.id,
        "threadId": mail.id,
        "labelIds": ["INBOX", "UNREAD"],
        "snippet": "Hello &lt;you&gt; &amp; &#39;me&#39;",
        "sizeEstimate": len(raw),
        "historyId": str(mail.change),
        "internalDate": "1700000000123",
    }
    metadata = await get(format="metadata", metadataHeaders=["subject", "from"])
    assert metadata["payload"] == {
        "mimeType": "multipart/mixed",
        "headers": [
            {"name": "From", "value": "Ann <ann@y.test>"},
            {"name": "Subject", "value": "Lease"},
        ],
    }
    assert decoded((await get(format="raw"))["raw"]) == raw
    full = await get()
    alternative, attachment = full["payload"]["parts"]
    assert full["payload"]["partId"] == ""
    assert full["payload"]["body"] == {"size": 0}
    assert [part["partId"] for part in alternative["parts"]] == ["0.0", "0.1"]
    assert decoded(alternative["parts"][1]["body"]["data"]) == b"<p>Hi</p>\n"
    assert (attachment["partId"], attachment["filename"]) == ("1", "a.pdf")
    assert sorted(attachment["body"]) == ["attachmentId", "size"]
    assert (await client.get(f"{ME}/messages/{mail.id}?format=odd")).status_code == 400


async def test_attachment_ids_change_and_all_of_them_work(client, mails):
    mail = mails.add("provider-a", letter(files=[("a.pdf", b"%PDF-1")]), folder="inbox")
    other = mails.add("provider-a", letter(files=[("b.pdf", b"%PDF-2")]), folder="inbox")
    ids = []
    for _ in range(2):
        full = (await client.get(f"{ME}/messages/{mail.id}")).json()
        ids.append(full["payload"]["parts"][1]["body"]["attachmentId"])

    assert ids[0] != ids[1]
    for name in ids:
        answer = await client.get(f"{ME}/messages/{mail.id}/attachments/{name}")
        assert answer.json() == {"size": 6, "data": encoded(b"%PDF-1")}
    for place in (f"{mail.id}/attachments/nonsense", f"{other.id}/attachments/{ids[0]}"):
        assert (await client.get(f"{ME}/messages/{place}")).status_code == 400


async def test_a_large_text_comes_by_attachment_id(client, mails):
    text = "word " * (LARGE_BODY // 4)
    mail = mails.add("provider-a", letter(text=text), folder="inbox")
    body = (await client.get(f"{ME}/messages/{mail.id}")).json()["payload"]["body"]

    assert "data" not in body
    name = body["attachmentId"]
    answer = (await client.get(f"{ME}/messages/{mail.id}/attachments/{name}")).json()
    assert decoded(answer["data"]).decode().split() == text.split()


async def test_named_parts_bring_no_body(client, mails):
    mail = mails.add("provider-a", letter(html="<b>x</b>", files=[("a.pdf", b"%")]), folder="inbox")
    wanted = "id,payload(mimeType,parts(partId,filename,body(size,attachmentId),parts(partId)))"
    answer = await client.get(f"{ME}/messages/{mail.id}", params={"fields": wanted})

    assert '"data"' not in answer.text
    assert answer.json()["payload"]["parts"][0]["parts"] == [{"partId": "0.0"}, {"partId": "0.1"}]


@pytest.mark.parametrize(
    ("name", "status", "word"),
    [("0123456789abcdef", 404, "notFound"), ("not%2Fan-id", 400, "invalidArgument")],
)
async def test_an_unknown_id_is_refused(client, name, status, word):
    for kind in ("messages", "threads"):
        answer = await client.get(f"{ME}/{kind}/{name}")
        assert answer.status_code == status
        assert reason(answer) == word


async def test_a_sent_mail_is_completed_and_delivered(client, mails):
    raw = b"To: me@b.test, z@z.test\r\nBcc: q@q.test\r\nFrom: fake@z.test\r\nSubject: s\r\n\r\nhi"
    answer = (await client.post(f"{ME}/messages/send", json={"raw": encoded(raw)})).json()

    assert answer["labelIds"] == ["SENT"]
    full = (await client.get(f"{ME}/messages/{answer['id']}?format=metadata")).json()
    headers = {header["name"]: header["value"] for header in full["payload"]["headers"]}
    assert headers["From"] == "Me Myself <me@x.test>"
    assert headers["Bcc"] == "q@q.test"
    assert "Date" in headers
    assert headers["Message-ID"].startswith("<")
    (arrived,) = mails.all("provider-b")
    assert b"q@q.test" not in arrived.raw
    assert b"fake@z.test" not in arrived.raw


async def test_the_message_id_of_a_sent_mail_is_lost(client, mails):
    raw = (
        b"To: me@b.test\r\nMessage-ID: <own@gw.test>\r\nSubject: s\r\n\r\nMessage-ID: <own@gw.test>"
    )
    draft = (await client.post(f"{ME}/drafts", json={"message": {"raw": encoded(raw)}})).json()
    await client.post(f"{ME}/drafts/send", json={"id": draft["id"]})
    await client.post(f"{ME}/messages/send", json={"raw": encoded(raw)})

    for mail in (*mails.all("provider-a"), *mails.all("provider-b")):
        head, _, body = mail.raw.partition(b"\r\n\r\n")
        assert head.count(b"Message-ID: <CA") == 1
        assert head.count(b"@mail.gmail.com>") == 1
        assert b"own@gw.test" not in head
        assert body == b"Message-ID: <own@gw.test>"
    query = {"q": "rfc822msgid:own@gw.test in:anywhere"}
    results = await client.get(f"{ME}/messages", params=query)
    assert results.json() == {"resultSizeEstimate": 0}


async def test_a_draft_may_be_uploaded(client, mails):
    raw = b"To: me@b.test\r\nSubject: s\r\n\r\nhi"
    draft = (
        await client.post(
            f"{ME.replace('/gmail/', '/upload/gmail/')}/drafts?uploadType=media",
            content=raw,
            headers={"content-type": "message/rfc822"},
        )
    ).json()
    sent = (await client.post(f"{ME}/drafts/send", json={"id": draft["id"]})).json()
    again = await client.post(f"{ME}/drafts/send", json={"id": draft["id"]})

    assert draft["message"]["labelIds"] == ["DRAFT"]
    assert (again.status_code, reason(again)) == (404, "notFound")
    assert [mail.id for mail in mails.all("provider-a")] == [sent["id"]]
    assert sent["id"] != draft["message"]["id"]


async def test_mail_to_oneself_is_one_message_in_two_places(client):
    raw = b"To: me@x.test\r\nSubject: s\r\n\r\nhi"
    answer = (await client.post(f"{ME}/messages/send", json={"raw": encoded(raw)})).json()

    assert answer["labelIds"] == ["INBOX", "UNREAD", "SENT"]


@pytest.mark.parametrize(
    ("joins", "answer"),
    [
        (True, ("<lease@y.test>", "Re: Lease", True)),
        (False, ("<lease@y.test>", "Re: Lease", False)),
        (False, ("<other@y.test>", "Re: Lease", True)),
        (False, ("<lease@y.test>", "Another subject", True)),
    ],
    ids=["all three", "no thread id", "no reference into it", "another subject"],
)
async def test_a_sent_mail_joins_a_thread_under_three_conditions(client, mails, joins, answer):
    references, subject, with_thread = answer
    first = mails.add("provider-a", letter(Message_ID="<lease@y.test>"), folder="inbox")
    raw = letter(subject, To="ann@y.test", References=references, In_Reply_To=references)
    body = {"raw": encoded(raw), **({"threadId": first.thread_id} if with_thread else {})}
    answer = (await client.post(f"{ME}/messages/send", json=body)).json()

    assert (answer["threadId"] == first.thread_id) is joins


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"raw": "*"}, 400),
        ({"raw": encoded(b"Subject: nobody\r\n\r\n")}, 400),
        ({"raw": encoded(b"To: nonsense\r\n\r\n")}, 400),
        ({"raw": encoded(b"To: a@b.test\r\n\r\n"), "threadId": "0123456789abcdef"}, 404),
    ],
    ids=["nothing", "no base64", "no recipient", "a bad recipient", "an unknown thread"],
)
async def test_a_mail_that_cannot_be_sent_is_refused(client, mails, body, status):
    answer = await client.post(f"{ME}/messages/send", json=body)

    assert answer.status_code == status
    assert mails.all("provider-a") == ()


async def test_a_mail_can_be_sent_as_an_upload(client, sandbox):
    path = f"/provider-a/upload{ME.removeprefix('/provider-a')}/messages/send"
    raw = b"To: a@b.test\r\nSubject: s\r\n\r\nhi"
    media = await client.post(
        f"{path}?uploadType=media", content=raw, headers={"content-type": "message/rfc822"}
    )
    assert media.json()["labelIds"] == ["SENT"]

    parts = (
        b"--b\r\nContent-Type: application/json\r\n\r\n{}\r\n"
        b"--b\r\nContent-Type: message/rfc822\r\n\r\n" + raw + b"\r\n--b--"
    )
    multipart = await client.post(
        f"{path}?uploadType=multipart",
        content=parts,
        headers={"content-type": 'multipart/related; boundary="b"'},
    )
    assert multipart.status_code == 200
    assert sandbox.state.mails.all("provider-a")[0].raw.endswith(b"\r\n\r\nhi")

    start = await client.post(f"{path}?uploadType=resumable", json={})
    location = start.headers["location"].removeprefix("http://sandbox.test/sandbox")
    done = await client.put(location, content=raw)
    assert done.json()["labelIds"] == ["SENT"]
    assert len(sandbox.state.mails.all("provider-a")) == 3


async def test_trash_takes_out_of_the_inbox_and_untrash_does_not_bring_back(client, mails):
    mail = mails.add("provider-a", letter(), folder="inbox", is_read=True)

    async def post(verb):
        return (await client.post(f"{ME}/messages/{mail.id}/{verb}")).json()

    assert (await post("trash"))["labelIds"] == ["TRASH"]
    assert "labelIds" not in await post("untrash")


async def test_a_sent_mail_stays_sent_in_the_trash(client, mails):
    mail = mails.add("provider-a", letter(), folder="sent", is_read=True)
    answer = (await client.post(f"{ME}/messages/{mail.id}/trash")).json()
    assert answer["labelIds"] == ["TRASH", "SENT"]
    answer = (await client.post(f"{ME}/messages/{mail.id}/untrash")).json()
    assert answer["labelIds"] == ["SENT"]


async def test_labels_are_put_on_and_taken_off(client, mails):
    made = (await client.post(f"{ME}/labels", json={"name": "Clients/X"})).json()
    mail = mails.add("provider-a", letter(), folder="inbox")
    change = {"addLabelIds": [made["id"], "STARRED"], "removeLabelIds": ["UNREAD", "INBOX"]}
    answer = await client.post(f"{ME}/messages/{mail.id}/modify", json=change)

    assert answer.json()["labelIds"] == ["STARRED", made["id"]]
    kept = mails.find("provider-a", mail.id)
    assert (kept.folder, kept.labels, kept.is_read) == ("archive", ("Clients/X",), True)

    renamed = await client.patch(f"{ME}/labels/{made['id']}", json={"name": "Clients/Y"})
    assert renamed.json()["name"] == "Clients/Y"
    counted = (await client.get(f"{ME}/labels/{made['id']}")).json()
    assert (counted["messagesTotal"], counted["messagesUnread"]) == (1, 0)
    assert (await client.delete(f"{ME}/labels/{made['id']}")).status_code == 204
    assert mails.find("provider-a", mail.id).labels == ()


@pytest.mark.parametrize(
    "change",
    [
        {"addLabelIds": ["SENT"]},
        {"removeLabelIds": ["DRAFT"]},
        {"addLabelIds": ["Label_99"]},
        {"addLabelIds": ["UNREAD"] * 101},
        {"addLabelIds": ["UNREAD"], "removeLabelIds": ["UNREAD"]},
        {},
    ],
    ids=["SENT", "DRAFT", "an unknown label", "too many", "both ways", "nothing"],
)
async def test_a_change_of_labels_that_cannot_be_is_refused(client, mails, change):
    mail = mails.add("provider-a", letter(), folder="inbox")
    answer = await client.post(f"{ME}/messages/{mail.id}/modify", json=change)

    assert answer.status_code == 400
    assert reason(answer) == "invalidArgument"
    assert mails.find("provider-a", mail.id) == mail


async def test_a_label_name_is_taken_once(client):
    assert (await client.post(f"{ME}/labels", json={"name": "Home"})).status_code == 200
    taken = await client.post(f"{ME}/labels", json={"name": "HOME"})
    assert taken.status_code == 409
    assert (await client.post(f"{ME}/labels", json={"name": "inbox"})).status_code == 400


async def test_many_messages_are_changed_at_once(client, mails):
    ids = [mails.add("provider-a", letter(), folder="inbox").id for _ in range(3)]
    body = {"ids": [*ids, "0123456789abcdef"], "removeLabelIds": ["UNREAD"]}
    answer = await client.post(f"{ME}/messages/batchModify", json=body)

    assert (answer.status_code, answer.content) == (204, b"")
    assert all(mail.is_read for mail in mails.all("provider-a"))


async def test_a_thread_is_read_and_changed_whole(client, mails):
    first = mails.add("provider-a", letter(Message_ID="<1@x>"), folder="inbox", received_ms=1)
    mails.add("provider-a", letter(References="<1@x>"), folder="inbox", received_ms=2)
    thread = (await client.get(f"{ME}/threads/{first.thread_id}?format=minimal")).json()
    assert [message["internalDate"] for message in thread["messages"]] == ["1", "2"]

    listed = (await client.get(f"{ME}/threads?q=lease")).json()
    assert [mail["id"] for mail in listed["threads"]] == [first.thread_id]
    trashed = (await client.post(f"{ME}/threads/{first.thread_id}/trash")).json()
    assert [message["labelIds"] for message in trashed["messages"]] == [["TRASH", "UNREAD"]] * 2


async def test_a_draft_is_kept_then_sent(client, mails):
    raw = encoded(b"To: z@z.test\r\nSubject: s\r\n\r\nhi")
    draft = (await client.post(f"{ME}/drafts", json={"message": {"raw": raw}})).json()
    assert draft["message"]["labelIds"] == ["DRAFT"]
    assert (await client.get(f"{ME}/drafts")).json()["drafts"][0]["id"] == draft["id"]
    assert (await client.get(f"{ME}/drafts/{draft['id']}")).json()["message"]["payload"]

    sent = (await client.post(f"{ME}/drafts/send", json={"id": draft["id"]})).json()
    assert sent["labelIds"] == ["SENT"]
    assert (await client.get(f"{ME}/drafts/{draft['id']}")).status_code == 404
    assert [mail.folder for mail in mails.all("provider-a")] == ["sent"]


async def test_scopes_bound_what_a_token_may(sandbox, mails):
    mail = mails.add("provider-a", letter(), folder="inbox")
    raw = encoded(b"To: z@z.test\r\n\r\n")

    async def statuses(scope):
        async with client_of(sandbox, scope) as client:
            return (
                (await client.get(f"{ME}/messages/{mail.id}?format=metadata")).status_code,
                (await client.get(f"{ME}/messages/{mail.id}")).status_code,
                (await client.get(f"{ME}/messages?q=x")).status_code,
                (await client.post(f"{ME}/messages/send", json={"raw": raw})).status_code,
                (await client.post(f"{ME}/messages/{mail.id}/trash")).status_code,
            )

    assert await statuses("gmail.metadata") == (200, 403, 403, 403, 403)
    assert await statuses("gmail.readonly") == (200, 200, 200, 403, 403)
    assert await statuses("gmail.send") == (403, 403, 403, 200, 403)
    assert await statuses("gmail.modify") == (200, 200, 200, 200, 200)


async def test_deleting_for_good_needs_the_full_scope(sandbox, client, mails):
    mail = mails.add("provider-a", letter(), folder="inbox")
    refused = await client.delete(f"{ME}/messages/{mail.id}")
    assert refused.status_code == 403
    assert reason(refused) == "insufficientPermissions"
    assert "insufficient_scope" in refused.headers["www-authenticate"]

    async with client_of(sandbox, "https://mail.google.com/") as full:
        assert (await full.delete(f"{ME}/messages/{mail.id}")).status_code == 204
    assert mails.all("provider-a") == ()


async def test_only_the_own_mailbox_is_open(client):
    assert (await client.get(f"{ME.replace('/me', '/me@x.test')}/profile")).status_code == 200
    assert (await client.get(f"{ME.replace('/me', '/you@x.test')}/profile")).status_code == 403


async def test_the_profile_counts(client, mails):
    mails.add("provider-a", letter(), folder="inbox")
    assert (await client.get(f"{ME}/profile")).json() == {
        "emailAddress": "me@x.test",
        "messagesTotal": 1,
        "threadsTotal": 1,
        "historyId": str(mails.last_change()),
    }


async def test_history_lists_added_changed_and_deleted_messages(client, mails):
    old = mails.add("provider-a", letter(), folder="inbox")
    start = mails.last_change()
    new = mails.add("provider-a", letter(), folder="inbox")
    mails.delete("provider-a", old.id)
    answer = (await client.get(f"{ME}/history?startHistoryId={start}")).json()

    added, gone = answer["history"]
    assert added["messagesAdded"][0]["message"]["id"] == new.id
    assert gone["messagesDeleted"][0]["message"]["id"] == old.id
    assert (await client.get(f"{ME}/history?startHistoryId=999")).status_code == 404


def batch_of(*paths):
    parts = [
        f"--b\r\nContent-Type: application/http\r\nContent-ID: <c+{place}>\r\n\r\n"
        f"GET {path} HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n"
        for place, path in enumerate(paths)
    ]
    return {
        "content": "".join(parts) + "--b--",
        "headers": {"content-type": "multipart/mixed; boundary=b"},
    }


def parts_of(answer):
    boundary = answer.headers["content-type"].partition("boundary=")[2]
    parts = []
    for piece in answer.text.split(f"--{boundary}")[1:-1]:
        head, inner, body = piece.strip().split("\r\n\r\n", 2)
        name = head.partition("Content-ID: ")[2].split("\r\n")[0]
        parts.append((name, inner.split("\r\n")[0], json.loads(body)))
    return parts


@pytest.mark.parametrize("path", ["/provider-a/batch", "/provider-a/batch/gmail/v1"])
async def test_the_calls_of_a_batch_are_answered_logged_and_faulted_one_by_one(client, mails, path):
    mail = mails.add("provider-a", letter(), folder="inbox")
    await client.put("/faults/provider-a", json={"kind": "429", "count": 1, "match": "labels"})
    inner = ME.removeprefix("/provider-a")
    calls = (f"{inner}/messages/{mail.id}?format=minimal", f"{inner}/messages/1", f"{inner}/labels")
    answer = await client.post(path, **batch_of(*calls))

    found, missing, throttled = parts_of(answer)
    assert answer.status_code == 200
    assert found[:2] == ("<response-c+0>", "HTTP/1.1 200 OK")
    assert found[2]["id"] == mail.id
    assert missing[:2] == ("<response-c+1>", "HTTP/1.1 404 Not Found")
    assert throttled[1] == "HTTP/1.1 429 Too Many Requests"
    outer, *logged = (await client.get("/calls/provider-a")).json()["calls"]
    assert outer["batch"] is None
    assert len({call["batch"] for call in logged}) == 1
    assert [call["fault"] for call in logged] == [None, None, "429"]


async def test_the_calls_of_a_batch_may_carry_the_mount_prefix(client):
    answer = await client.post("/provider-a/batch", **batch_of(f"/sandbox{ME}/labels"))

    assert parts_of(answer)[0][1] == "HTTP/1.1 200 OK"


async def test_a_batch_has_a_bound_and_a_form(client):
    inner = ME.removeprefix("/provider-a") + "/labels"
    assert (await client.post("/provider-a/batch", **batch_of(*[inner] * 101))).status_code == 400
    assert (await client.post("/provider-a/batch", content="x")).status_code == 400


async def test_answers_are_compressed_when_both_headers_ask(client, mails):
    mail = mails.add("provider-a", letter(text="word " * 1000), folder="inbox")
    path = f"{ME}/messages/{mail.id}"
    zipped = await client.get(path, headers={"user-agent": "x (gzip)", "accept-encoding": "gzip"})
    plain = await client.get(path, headers={"accept-encoding": "gzip"})

    assert zipped.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert zipped.json() == plain.json()


async def test_messages_are_parsed_once_words_are_asked_for(sandbox, mails, client, monkeypatch):
    parsed = []
    of = sandbox.state.trees.of
    monkeypatch.setattr(sandbox.state.trees, "of", lambda mail: parsed.append(mail.id) or of(mail))
    first, second = (
        mails.add("provider-a", letter(character), folder="inbox") for character in "ab"
    )

    listed = await client.get(f"{ME}/messages", params={"q": "-in:drafts"})
    assert sorted(message["id"] for message in listed.json()["messages"]) == sorted(
        [first.id, second.id]
    )
    assert parsed == []

    found = await client.get(f"{ME}/messages", params={"q": "subject:a -in:drafts"})
    assert [message["id"] for message in found.json()["messages"]] == [first.id]
    assert sorted(parsed) == sorted([first.id, second.id])
