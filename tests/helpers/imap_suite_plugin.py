"""
Plugin of pytest: the mailboxes of `world` are accounts on a Dovecot and send by a Postfix.

What tests read and write of the sandbox's mail is that of the accounts. The accounts of the other
operator stay at the providers A and B of the sandbox, which nothing may call.
"""

import asyncio
import smtplib
import ssl
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from email import message_from_bytes

# Helpers are imported late: `conftest` registers them first, so that their assertions are shown.
_STACK = ExitStack()
_SERVERS = {}
# Worlds that a module shares live beside those of single tests.
_USERS = {"provider-a": "first", "provider-b": "second"}
_SHARED_USERS = {"provider-a": "third", "provider-b": "fourth"}
_READING = {
    *("CAPABILITY", "LOGIN", "NOOP", "NAMESPACE", "MYRIGHTS", "LIST", "STATUS"),
    *("EXAMINE", "SELECT", "UNSELECT", "CLOSE", "FETCH", "SEARCH", "ENABLE", "IDLE"),
}
_READING |= {"CONNECT", "SORT", "AUTHENTICATE"}


def pytest_configure():
    import imap_account
    import world as worlds
    from dovecot import DOMAIN, dovecot_server
    from postfix import postfix_server

    users = [*_USERS.values(), *_SHARED_USERS.values()]
    dovecot = _STACK.enter_context(dovecot_server(users=users))
    aliases = {
        email: f"{_USERS[mailbox]}@{DOMAIN}"
        for mailbox, email in (("provider-a", worlds.ME_A), ("provider-b", worlds.ME_B))
    }
    postfix = _STACK.enter_context(postfix_server(dovecot, aliases=aliases))
    _STACK.callback(imap_account.trust(dovecot).undo)
    _SERVERS.update(dovecot=dovecot, postfix=postfix)
    for provider in worlds.MAILBOXES:
        worlds.CODES[provider] = "IMAP"
        worlds.PREFIXES[provider] = "imap"
        worlds.INBOX_LABELS[provider] = ["INBOX"]
        worlds.LINE_END[provider] = "\r\n"
        worlds.DRAFT_WRITES[provider] = {"send": 3, "reply": 3, "forward": 3}
    worlds.LEASE_FILE.update(part="2", size=16)  # the size is computed from that of the base64
    worlds._connect = _connect
    worlds.opened = _opened(worlds.opened)
    worlds.World.calls = lambda world: list(_calls(world))
    worlds.World.forget_calls = lambda world: _calls(world).clear()
    worlds.World.send_draft = _send_draft


def pytest_unconfigure():
    _STACK.close()


def _calls(world):
    return world.sandbox.imap_calls


async def _connect(admin, sandbox, operator, provider, *, resource, scopes):
    import world as worlds

    mailbox = worlds.MAILBOXES[provider]
    can_write = scopes == worlds.WRITES[provider]
    body = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "IMAP",
        "accountEmail": sandbox.state.mails.account(mailbox).email,
        "baseUrl": _SERVERS["dovecot"].url(),
        "credentials": _login(_USERS[mailbox], can_write=can_write),
    }
    return int(await worlds._made(admin, "connections", body))


async def _send_draft(world, provider, draft):
    """Send a draft as a mail client does: by SMTP, and then it moves to the Sent folder."""
    await asyncio.to_thread(_submit, draft)
    world.sandbox.state.mails.update(draft.mailbox, draft.id, folder="sent")


def _submit(draft):
    from dovecot import DOMAIN

    user, postfix = _USERS[draft.mailbox], _SERVERS["postfix"]
    context = ssl.create_default_context(cafile=str(_SERVERS["dovecot"].certificate))
    with smtplib.SMTP_SSL("localhost", postfix.tls_port, context=context) as client:
        client.login(f"{user}@{DOMAIN}", f"{user}-secret")
        client.send_message(message_from_bytes(draft.raw))


def _login(user, *, can_write=True):
    from dovecot import DOMAIN

    login = {"username": f"{user}@{DOMAIN}", "password": f"{user}-secret"}
    return {**login, "submissionUrl": _SERVERS["postfix"].url()} if can_write else login


def _opened(original):
    @asynccontextmanager
    async def opened(template, known, folder, **settings):
        import world as worlds
        from imap_mailstore import ImapMailStore

        from providers.connectors.imap.message_ids import MessageIds

        async with original(template, known, folder, **settings) as world:
            users = _USERS
            if folder.name.startswith("shared"):
                users = _SHARED_USERS
                for provider, mailbox in worlds.MAILBOXES.items():
                    path = f"/api/connections/{world.connections[provider]}"
                    login = {"credentials": _login(users[mailbox])}
                    changed = await world.admin.patch(path, json=login)
                    assert changed.status_code == 200, changed.text
            logins = world.gateway.services.accounts._ports._logins
            ids = {
                mailbox: MessageIds((await logins.read(world.connections[provider])).id_key)
                for provider, mailbox in worlds.MAILBOXES.items()
            }
            state = world.sandbox.state
            accounts = {mailbox: state.mails.account(mailbox) for mailbox in ids}
            mails = ImapMailStore(_SERVERS["dovecot"], users, ids, accounts)
            world.sandbox.state = replace(state, mails=mails)
            _record_calls(world)
            by_name = {
                name: mails.add_many(mailbox, [mail])[0]
                for mailbox, named in worlds.MAILS.items()
                for name, mail in named.items()
            }
            try:
                yield replace(world, mails=by_name)
            finally:
                mails.close()

    return opened


def _record_calls(world):
    """Record the calls of the gateway beside what listens to them already."""
    world.sandbox.imap_calls = calls = []
    origins = world.gateway.services.accounts.origins
    listener = origins.listener

    def record(event):
        method = "GET" if event.method in _READING else "POST"
        calls.append({"method": method, "path": event.method, "query": {}, "batch": None})
        if listener is not None:
            listener(event)

    origins.listener = record
