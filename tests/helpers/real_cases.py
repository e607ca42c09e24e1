"""Messages as real senders write them, and what is read from each: tests/real_cases/mail."""

import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "real_cases" / "mail"
CASES = json.loads((FOLDER / "cases.json").read_text())
MESSAGES = "/api/access/email/messages"
READ = """
query ($id: String!) {
  email(emailId: $id, includeBody: true) {
    subject bodyPreview body bodyType sentAt hasAttachments
    from { name email } to { name email } cc { name email }
    attachments { id name contentType isInline }
  }
}
"""


def cases(group):
    """Return the cases of a group by name."""
    return {name: case for name, case in CASES.items() if case["group"] == group}


def raw(name):
    """Return the bytes of a message."""
    return (FOLDER / f"{name}.eml").read_bytes()


async def play(client, email_id):
    """Read a message by REST and by GraphQL, and its attachments; return both readings."""
    answer = await client.get(f"{MESSAGES}/{email_id}")
    assert answer.status_code == 200, answer.text
    by_rest = answer.json()
    answer = await client.post("/graphql", json={"query": READ, "variables": {"id": email_id}})
    by_graphql = answer.json()["data"]["email"]
    contents = {}
    for file in by_rest["attachments"]:
        content = await client.get(f"{MESSAGES}/{email_id}/attachments/{file['id']}")
        assert content.status_code == 200, content.text
        contents[file["name"]] = content.content
    return [{**by_rest, "contents": contents}, {**by_graphql, "contents": contents}]


async def listing(client):
    """Return the messages of a listing by id, without what only a body has."""
    emails, token = {}, None
    while True:
        params = {"limit": 50, **({"pageToken": token} if token else {})}
        answer = await client.get(MESSAGES, params=params)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        for email in page["emails"]:
            del email["body"], email["bodyType"]
            emails[email["id"]] = email
        token = page["nextPageToken"]
        if token is None:
            return emails


def differences(projection, email):
    """Return what of a reading is not as wanted: key -> the value that was read."""
    different = {}
    for key, value in projection.items():
        read, holds = _check(key, value, email)
        if not holds:
            different[key] = read
    return different


def _check(key, projection, email):
    name = key.rstrip("~!")
    if name.startswith("att"):
        return _check_attachments(key, projection, email["attachments"])
    if name == "bytes":
        read = email["contents"].get(projection[0])
        return read, read is not None and read in [text.encode() for text in projection[1]]
    if name.endswith(".emails"):
        read = [person["email"] for person in email[name.removesuffix(".emails")]]
        return read, read == projection
    if "." in name:
        member, _, part = name.partition(".")
        read = (email[member] or {}).get(part)
    else:
        read = email[name]
    if key.endswith("~"):
        return read, projection in (read or "")
    if key.endswith("!"):
        return read, projection not in (read or "")
    return read, (read.strip() if name == "body" and read else read) == projection


def _check_attachments(key, projection, attachments):
    if key == "att.names":
        read = [file["name"] for file in attachments]
        pairs = zip(read, projection, strict=False)
        return read, len(read) == len(projection) and all(b is None or a == b for a, b in pairs)
    if key == "att.types~":
        read = [file["contentType"] for file in attachments]
        return read, projection in read
    read = [[file["name"], file["contentType"]] for file in attachments]
    return read, read == projection
