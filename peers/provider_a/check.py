"""
Check the sandbox's provider A (Gmail, Google Calendar) with the vendor's unchanged Python client
over a socket: every response must fit the vendor's discovery document.
"""

import base64
import http.client
import io
import json
import sys
import time
import urllib.request
from email.message import EmailMessage
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import calendar_checks
import jsonschema
from google.oauth2.credentials import Credentials
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError
from googleapiclient.http import MediaIoBaseUpload
from serving import served

SCOPE_MISSING = "ACCESS_TOKEN_SCOPE_INSUFFICIENT"  # of the details, which the client prefers
CHECKED = []


def document(base, api):
    text = (
        files("googleapiclient.discovery_cache")
        .joinpath(f"documents/{api}.json")
        .read_text("utf-8")
    )
    found = json.loads(text)
    found["rootUrl"] = f"{base}/"
    found["baseUrl"] = found["rootUrl"] + found["servicePath"]
    found.pop("mtlsRootUrl", None)
    return found


def definitions(found):
    """Convert discovery schemas to JSON Schema without additional members."""

    def turned(schema):
        if "$ref" in schema:
            return {"$ref": f"#/$defs/{schema['$ref']}"}
        kind = schema.get("type")
        if kind in {None, "any"}:
            return {}
        if kind == "object":
            out = {"type": "object"}
            if "properties" in schema:
                out["properties"] = {k: turned(v) for k, v in schema["properties"].items()}
                out["additionalProperties"] = False
            if "additionalProperties" in schema:
                out["additionalProperties"] = turned(schema["additionalProperties"])
            return out
        if kind == "array":
            return {"type": "array", "items": turned(schema["items"])}
        out = {"type": kind}
        if schema.get("format") in {"int64", "uint64"} and kind == "string":
            out["pattern"] = r"^-?\d+$"
        if "enum" in schema:
            out["enum"] = schema["enum"]
        return out

    return {name: turned(schema) for name, schema in found["schemas"].items()}


class Peer:
    """Client that checks every response against the schema that its method declares."""

    def __init__(self, base, credentials, api="gmail.v1"):
        self.found = document(base, api)
        self.client = build_from_document(self.found, credentials=credentials)
        self.users = self.client.users() if api == "gmail.v1" else None
        self.definitions = definitions(self.found)

    def run(self, request):
        answer = request.execute()
        name = self.schema_of(request.methodId)
        if name is None:
            assert not answer, (request.methodId, answer)
        else:
            self.conforms(answer, name)
        CHECKED.append(request.methodId)
        return answer

    def conforms(self, answer, name):
        schema = {"$ref": f"#/$defs/{name}", "$defs": self.definitions}
        problems = [
            f"{list(error.path)}: {error.message}"
            for error in jsonschema.Draft202012Validator(schema).iter_errors(answer)
        ]
        assert not problems, (name, problems)

    def schema_of(self, method_id):
        place = self.found
        *resources, method = method_id.split(".")[1:]
        for resource in resources:
            place = place["resources"][resource]
        return place["methods"][method].get("response", {}).get("$ref")

    def refused(self, request, status, reason):
        try:
            request.execute()
        except HttpError as error:
            assert error.status_code == status, error
            assert error.error_details[0]["reason"] == reason, error.error_details
            CHECKED.append(f"{request.methodId} {status}")
        else:
            raise AssertionError(f"{request.methodId} was not refused")


def written(**headers):
    text = headers.pop("text", "hello")
    message = EmailMessage()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    message.set_content(text)
    return base64.urlsafe_b64encode(message.as_bytes()).decode()


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def listing(peer):
    messages = peer.users.messages()
    seen, request = [], messages.list(userId="me", maxResults=10)
    while request is not None:
        page = peer.run(request)
        seen += [message["id"] for message in page["messages"]]
        request = messages.list_next(request, page)
    assert len(seen) == len(set(seen)) == 25
    assert "messages" not in peer.run(messages.list(userId="me", q="nothinglikeit"))
    counts = {
        "is:unread": 12,
        "from:sender1@b.test": 8,
        "subject:überarbeitet": 25,
        "label:clients-big-one": 5,
        "has:attachment": 5,
        "filename:pdf": 5,
        "in:trash": 1,
        "in:anywhere": 27,
        "rfc822msgid:7@b.test": 1,
        "{rfc822msgid:7@b.test rfc822msgid:8@b.test}": 2,
        "number 7 -is:unread OR number 7": 1,
        "after:1767000001 before:1767300000": 3,
        '"number 7"': 1,
        "cc:last cc:first": 25,
    }
    for query, count in counts.items():
        found = peer.run(messages.list(userId="me", q=query)).get("messages", [])
        assert len(found) == count, (query, len(found))
    by_label = peer.run(messages.list(userId="me", labelIds=["Label_1", "INBOX"]))
    assert len(by_label["messages"]) == 5
    threads = peer.run(peer.users.threads().list(userId="me", maxResults=500))
    assert len(threads["threads"]) == 25


def reading(peer):
    messages = peer.users.messages()
    (one,) = peer.run(messages.list(userId="me", q="rfc822msgid:11@b.test"))["messages"]
    name = one["id"]
    for form in ("minimal", "metadata", "full", "raw"):
        answer = peer.run(messages.get(userId="me", id=name, format=form))
        assert ("payload" in answer, "raw" in answer) == (
            form in {"metadata", "full"},
            form == "raw",
        )
    chosen = peer.run(
        messages.get(userId="me", id=name, format="metadata", metadataHeaders=["Subject", "cc"])
    )
    assert [header["name"] for header in chosen["payload"]["headers"]] == ["Cc", "Subject"]
    full = peer.run(messages.get(userId="me", id=name))
    attachment = full["payload"]["parts"][1]
    assert attachment["filename"] == "Prüfung.pdf"
    data = peer.run(
        messages.attachments().get(
            userId="me", messageId=name, id=attachment["body"]["attachmentId"]
        )
    )
    assert unpadded(data["data"]) == b"%PDF" * 100
    mask = "id,snippet,payload(mimeType,parts(partId,filename,body/size,parts(partId,mimeType)))"
    masked = peer.run(messages.get(userId="me", id=name, fields=mask))
    assert '"data"' not in json.dumps(masked)
    assert masked["payload"]["parts"][0]["parts"][1] == {"partId": "0.1", "mimeType": "text/html"}
    listed = peer.run(messages.list(userId="me", fields="nextPageToken,messages/id", maxResults=1))
    assert list(listed["messages"][0]) == ["id"]
    thread = peer.run(peer.users.threads().get(userId="me", id=full["threadId"]))
    assert [message["id"] for message in thread["messages"]] == [name]
    peer.run(peer.users.getProfile(userId="me"))


def batching(peer):
    messages, got = peer.users.messages(), {}

    def keep(name, answer, error):
        got[name] = answer or error

    page = peer.run(messages.list(userId="me", maxResults=20))["messages"]
    batch = peer.client.new_batch_http_request(callback=keep)
    for item in page:
        batch.add(
            messages.get(userId="me", id=item["id"], format="metadata"), request_id=item["id"]
        )
    batch.add(messages.get(userId="me", id="0123456789abcdef"), request_id="missing")
    batch.add(messages.get(userId="me", id="not an/id"), request_id="malformed")
    batch.add(
        messages.modify(userId="me", id=page[0]["id"], body={"addLabelIds": ["STARRED"]}),
        request_id="write",
    )
    batch.execute()
    assert got.pop("missing").status_code == 404
    malformed = got.pop("malformed")
    assert malformed.status_code == 400, malformed
    assert "STARRED" in got.pop("write")["labelIds"]
    assert sorted(got) == sorted(item["id"] for item in page)
    for answer in got.values():
        peer.conforms(answer, "Message")
    CHECKED.append(f"batch of {len(page) + 3}")


def sending(peer):
    messages = peer.users.messages()
    (first,) = peer.run(messages.list(userId="me", q="rfc822msgid:3@b.test"))["messages"]
    answering = {
        "To": "me@b.test",
        "Bcc": "hidden@c.test",
        "Subject": "Re: Lease 3 – überarbeitet",
        "In_Reply_To": "<3@b.test>",
        "References": "<3@b.test>",
    }
    body = {"raw": written(**answering), "threadId": first["threadId"]}
    sent = peer.run(messages.send(userId="me", body=body))
    assert sent["threadId"] == first["threadId"]
    assert sent["labelIds"] == ["SENT"]
    thread = peer.run(peer.users.threads().get(userId="me", id=first["threadId"]))
    assert len(thread["messages"]) == 2
    body["raw"] = written(**{**answering, "Subject": "Something else"})
    assert peer.run(messages.send(userId="me", body=body))["threadId"] != first["threadId"]
    peer.refused(
        messages.send(userId="me", body={"raw": written(Subject="x")}), 400, "invalidArgument"
    )
    raw = b"To: me@b.test\r\nSubject: upload\r\n\r\nhi"
    for resumable in (False, True):
        media = MediaIoBaseUpload(io.BytesIO(raw), "message/rfc822", resumable=resumable)
        peer.run(messages.send(userId="me", body={}, media_body=media))
    inserted = peer.run(
        messages.insert(userId="me", body={"raw": written(To="me@a.test"), "labelIds": ["INBOX"]})
    )
    assert inserted["labelIds"] == ["INBOX"]
    drafts = peer.users.drafts()
    draft = peer.run(
        drafts.create(userId="me", body={"message": {"raw": written(To="me@b.test", Subject="d")}})
    )
    peer.run(drafts.list(userId="me"))
    peer.run(drafts.get(userId="me", id=draft["id"]))
    peer.run(
        drafts.update(
            userId="me", id=draft["id"], body={"message": {"raw": written(To="me@b.test")}}
        )
    )
    peer.run(drafts.send(userId="me", body={"id": draft["id"]}))
    peer.refused(drafts.get(userId="me", id=draft["id"]), 404, "notFound")


def changing(peer, full):
    messages, labels = peer.users.messages(), peer.users.labels()
    names = {label["name"] for label in peer.run(labels.list(userId="me"))["labels"]}
    assert {"INBOX", "TRASH", "Clients/Big One"} <= names
    made = peer.run(
        labels.create(
            userId="me",
            body={
                "name": "Peer",
                "labelListVisibility": "labelShow",
                "messageListVisibility": "show",
            },
        )
    )
    peer.refused(labels.create(userId="me", body={"name": "peer"}), 409, "aborted")
    (one,) = peer.run(messages.list(userId="me", q="rfc822msgid:5@b.test"))["messages"]
    name = one["id"]
    change = {"addLabelIds": [made["id"]], "removeLabelIds": ["UNREAD", "INBOX"]}
    changed = peer.run(messages.modify(userId="me", id=name, body=change))
    assert sorted(changed["labelIds"]) == ["Label_1", made["id"]]
    peer.refused(
        messages.modify(userId="me", id=name, body={"addLabelIds": ["SENT"]}),
        400,
        "invalidArgument",
    )
    assert peer.run(labels.get(userId="me", id=made["id"]))["messagesTotal"] == 1
    peer.run(labels.patch(userId="me", id=made["id"], body={"name": "Peer/Two"}))
    trashed = peer.run(messages.trash(userId="me", id=name))
    assert "TRASH" in trashed["labelIds"]
    assert "TRASH" not in peer.run(messages.untrash(userId="me", id=name))["labelIds"]
    peer.run(labels.delete(userId="me", id=made["id"]))
    page = peer.run(messages.list(userId="me", maxResults=3))["messages"]
    ids = [item["id"] for item in page]
    peer.run(messages.batchModify(userId="me", body={"ids": ids, "addLabelIds": ["IMPORTANT"]}))
    thread = peer.run(
        peer.users.threads().modify(
            userId="me", id=page[0]["threadId"], body={"addLabelIds": ["STARRED"]}
        )
    )
    assert all("STARRED" in message["labelIds"] for message in thread["messages"])
    peer.run(peer.users.threads().trash(userId="me", id=page[1]["threadId"]))
    start = peer.run(peer.users.getProfile(userId="me"))["historyId"]
    peer.refused(messages.delete(userId="me", id=name), 403, SCOPE_MISSING)
    full.run(full.users.messages().delete(userId="me", id=name))
    history = peer.run(peer.users.history().list(userId="me", startHistoryId=start))
    assert history["history"][0]["messagesDeleted"][0]["message"]["id"] == name
    for item in page[2:]:
        peer.run(messages.modify(userId="me", id=item["id"], body={"addLabelIds": ["STARRED"]}))
        peer.run(messages.modify(userId="me", id=item["id"], body={"removeLabelIds": ["STARRED"]}))
    request, records = (
        peer.users.history().list(userId="me", startHistoryId=start, maxResults=1),
        [],
    )
    while request is not None:
        answer = peer.run(request)
        records += answer["history"]
        request = peer.users.history().list_next(request, answer)
    assert [entry["labelIds"] for record in records for entry in record.get("labelsAdded", ())] == [
        ["STARRED"]
    ]
    old = peer.users.history().list(userId="me", startHistoryId=str(int(start) + 10_000))
    peer.refused(old, 404, "notFound")


def failing(peer, base, world):
    messages = peer.users.messages()
    peer.refused(messages.get(userId="me", id="0123456789abcdef"), 404, "notFound")
    peer.refused(messages.get(userId="me", id="..%2Fx"), 400, "invalidArgument")
    peer.refused(messages.list(userId="me", pageToken="!"), 400, "invalidArgument")
    stranger = Peer(base, Credentials(token="nonsense"))
    try:
        stranger.users.labels().list(userId="me").execute()
    except Exception as error:
        assert "RefreshError" in type(error).__name__ or "401" in str(error), error
    else:
        raise AssertionError("an unknown token was taken")
    narrow = Peer(base, Credentials(token=world["metadata"]))
    narrow.refused(narrow.users.messages().list(userId="me", q="x"), 403, SCOPE_MISSING)
    fault(world, {"kind": "429", "count": 1, "match": "/labels"})
    peer.refused(peer.users.labels().list(userId="me"), 429, "rateLimitExceeded")
    # With num_retries the client repeats throttled calls, including those with status 403.
    for kind in (
        {"kind": "429"},
        {"kind": "403", "reason": "userRateLimitExceeded"},
        {"kind": "503"},
    ):
        fault(world, {**kind, "count": 1, "match": "/labels"})
        request = peer.users.labels().list(userId="me")
        request._sleep = lambda _: None
        assert request.execute(num_retries=1)["labels"]
    for kind in ("reset", "lostAnswer", "timeout"):
        fault(world, {"kind": kind, "count": 1, "delay": 0.2})
        assert cut(world), kind
        CHECKED.append(f"{kind}: the socket closes without a byte")
    for kind in ("reset", "lostAnswer"):
        fault(world, {"kind": kind, "count": 1, "match": "/labels"})
        start = time.monotonic()
        try:
            peer.users.labels().list(userId="me").execute()
        except (ConnectionError, OSError) as error:
            CHECKED.append(f"{kind}: {type(error).__name__} after {time.monotonic() - start:.2f}s")
        except Exception as error:
            assert "Disconnected" in type(error).__name__ or "httplib2" in type(error).__module__, (
                repr(error)
            )
            CHECKED.append(f"{kind}: {type(error).__name__}")
        else:
            # httplib2 repeats a call on a connection that it has used before.
            CHECKED.append(f"{kind}: repeated by the client")


def refreshing(base, world):
    credentials = Credentials(
        token=None,
        refresh_token=world["refresh"],
        token_uri=f"{world['url']}/oauth/provider-a/token",
        client_id="client",
        client_secret="secret",
    )
    for _ in range(2):
        peer = Peer(base, credentials)
        peer.run(peer.users.getProfile(userId="me"))
        credentials.token = None
    assert credentials.refresh_token == world["refresh"]
    CHECKED.append("token refresh")


def cut(world):
    """Tell whether the socket of a call is closed before the first byte of a response."""
    connection = http.client.HTTPConnection(urlsplit(world["url"]).netloc, timeout=10)
    headers = {"Authorization": f"Bearer {world['token']}"}
    connection.request("GET", "/provider-a/gmail/v1/users/me/labels", headers=headers)
    try:
        connection.getresponse()
    except (http.client.RemoteDisconnected, ConnectionResetError):
        return True
    return False


def fault(world, content):
    request = urllib.request.Request(
        f"{world['url']}/faults/provider-a", json.dumps(content).encode(), method="PUT"
    )
    urllib.request.urlopen(request).read()


def main():
    with served(Path(__file__).with_name("seed.py")) as world:
        base = f"{world['url']}/provider-a"
        peer = Peer(base, Credentials(token=world["token"]))
        full = Peer(base, Credentials(token=world["full"]))
        listing(peer)
        reading(peer)
        batching(peer)
        sending(peer)
        changing(peer, full)
        failing(peer, base, world)
        refreshing(base, world)
        calendar = Credentials(token=world["calendar"])
        calendar_checks.agree(Peer(base, calendar, "calendar.v3"), world["meetings"])
    print(f"provider A: {len(CHECKED)} answers agree, {len(set(CHECKED))} kinds")
    for line in sorted(set(item for item in CHECKED if ":" in item)):
        print("  ", line)


if __name__ == "__main__":
    sys.exit(main())
