"""
Mail that a gateway sends directly and leaves as drafts, for checks that open and send the drafts.

Runs in the project's environment, as the seeds do. The gateway works over the sandbox itself.
"""

import asyncio
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from gateway.app import assemble
from gateway.settings import Settings

ORIGIN = "http://127.0.0.1:8000"
ADMIN = "an-admin-token-of-this-check"
MESSAGES = "/api/access/email/messages"
DRAFTS = "/api/access/email/drafts"
SCOPES = {
    "provider-a": ["https://www.googleapis.com/auth/gmail.modify"],
    "provider-b": ["Mail.ReadWrite", "Mail.Send"],
}
CODES = {"provider-a": "PROVIDER_A", "provider-b": "PROVIDER_B"}
PREFIXES = {"provider-a": "providerA", "provider-b": "providerB"}
FILE = {"name": "Prüfung.csv", "contentBase64": b64encode("a;ü\n".encode()).decode()}


def fill(sandbox, mailbox):
    """
    Make each call once in direct mode, and once as a draft: in draft mode, and by `createDraft`.

    Returns:
        `token` of the account, and `pairs` of the ids of the message that was sent and of the
        draft, by the kind of call.
    """
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _fill(sandbox, mailbox, Path(folder))).result()


async def _fill(sandbox, mailbox, folder):
    settings = Settings(
        _env_file=None,
        data_dir=folder,
        admin_token=ADMIN,
        secret_keys="a secret key of this check, not used elsewhere",
        public_url=ORIGIN,
        sandbox=True,
    )
    gateway = assemble(settings, sandbox=sandbox)
    original = _original(sandbox, mailbox)
    async with gateway.running():
        transport = httpx.ASGITransport(gateway, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            issued, tokens, connection = await _connect(client, sandbox, mailbox)
            pairs = {}
            for kind, calls in _calls(original, connection).items():
                ids = []
                for token, steps in zip(tokens, calls, strict=True):
                    before = {mail.seq for mail in sandbox.state.mails.all(mailbox)}
                    headers, draft = {"authorization": f"Bearer {token}"}, ""
                    for method, path, body in steps:
                        address = path.format(draft=draft)
                        answer = await client.request(method, address, json=body, headers=headers)
                        answer.raise_for_status()
                        draft = answer.json()["emailId"]
                    (new,) = [
                        mail
                        for mail in sandbox.state.mails.all(mailbox)
                        if mail.seq not in before and mail.folder in {"sent", "drafts"}
                    ]
                    ids.append(new.id if mailbox == "provider-a" else new.immutable_id)
                pairs[kind] = ids
    return {"token": issued, "pairs": pairs}


def _original(sandbox, mailbox):
    message = EmailMessage()
    message["From"] = "Jürgen Ä. <sender@b.test>"
    message["To"] = sandbox.state.mails.account(mailbox).email
    message["Cc"] = "carl@c.test"
    message["Subject"] = "Lease – überarbeitet"
    message["Message-ID"] = "<original@b.test>"
    message.set_content("grüße & <tags>")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="lease.pdf")
    mail = sandbox.state.mails.add(mailbox, message.as_bytes(), folder="inbox")
    return f"{PREFIXES[mailbox]}:{mail.immutable_id}"


def _calls(original, connection):
    new = {
        "to": [{"email": "bo@b.test", "name": "Bø"}],
        "cc": [{"email": "carl@c.test"}],
        "bcc": [{"email": "dora@d.test"}],
        "subject": "Grüße",
        "body": "<p>Hallo</p>",
        "importance": "high",
        "attachments": [FILE],
        "connectionId": connection,
    }
    reply = {"body": "Yes", "attachments": [FILE]}
    to_all, forward = {**reply, "replyAll": True}, {"to": new["to"], **reply}
    rows = {
        "send": (f"{MESSAGES}/send", new, new),
        "reply": (f"{MESSAGES}/{original}/reply", reply, {**reply, "replyTo": original}),
        "reply to all": (f"{MESSAGES}/{original}/reply", to_all, {**to_all, "replyTo": original}),
        "forward": (f"{MESSAGES}/{original}/forward", forward, {**forward, "forwardOf": original}),
    }
    calls = {}
    for kind, (path, body, draft) in rows.items():
        sends = [("POST", path, body)]
        calls[kind] = (sends, sends)
        calls[f"{kind}, created"] = (sends, [("POST", DRAFTS, draft)])
    old = {**new, "subject": "Old", "cc": [], "importance": "low"}
    change = {name: new[name] for name in ("subject", "cc", "importance")}
    steps = [("POST", DRAFTS, old), ("PATCH", f"{DRAFTS}/{{draft}}", change)]
    calls["send, changed"] = ([("POST", f"{MESSAGES}/send", new)], steps)
    return calls


async def _connect(client, sandbox, mailbox):
    """Make the connection and a token for each mode; return the account's token, them and it."""

    async def made(kind, body):
        headers = {"authorization": f"Bearer {ADMIN}"}
        answer = await client.post(f"/api/{kind}", json=body, headers=headers)
        answer.raise_for_status()
        return answer.json()

    account = sandbox.state.mails.account(mailbox).email
    issued = sandbox.state.tokens.issue(PREFIXES[mailbox], account, SCOPES[mailbox])
    operator = (await made("operators", {"email": "o@x.test", "displayName": "O"}))["id"]
    resource = (await made("resources", {"name": "main", "operatorIds": [operator]}))["id"]
    connection = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": CODES[mailbox],
        "accountEmail": account,
        "grantedScopes": SCOPES[mailbox],
        "credentials": {"accessToken": issued},
    }
    connected = (await made("connections", connection))["id"]
    tokens = []
    for mode in ("direct", "draft"):
        settings = {"emailAccessEnabled": True, "allowedEmailOperations": ["all"], "sendMode": mode}
        token = {"name": mode, "operatorId": operator, "resourceIds": [resource]}
        tokens.append((await made("access-tokens", {**token, "settings": settings}))["token"])
    return issued, tokens, connected
