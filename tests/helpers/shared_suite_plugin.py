"""
Plugin of pytest: the Outlook mailbox of the worlds is a shared one, opened with a person's rights.

The person's own mailbox and calendars are others, and empty; nothing may call them.
"""

from contextlib import asynccontextmanager

MODULES = (
    "endpoint",
    "directory",
    "outlook_mail.routes",
    "outlook_mail.sending",
    "outlook_calendar.routes",
)


def pytest_configure():
    import calendar_world
    import world as worlds

    exchange_mailboxes()
    calendar_world.SCOPES["PROVIDER_B"] = ["Calendars.Read.Shared", "User.Read.All"]
    calendar_world.connect = _connected_calendars(calendar_world.connect)
    worlds.WRITES["PROVIDER_B"] = ["Mail.ReadWrite.Shared", "Mail.Send.Shared", "User.Read.All"]
    worlds._connect = _connected(worlds._connect)
    worlds.World.send_draft = _sent(worlds.World.send_draft)
    worlds.opened = _opened(worlds.opened)


def exchange_mailboxes():
    """Let the sandbox's mailbox of provider B be the shared one, and the other the person's."""
    from importlib import import_module

    from sandbox.mail.ids import PROVIDER_B, SHARED_B

    for name in MODULES:
        module = import_module(f"sandbox.provider_b.{name}")
        module.PROVIDER_B = SHARED_B
        if hasattr(module, "SHARED_B"):
            module.SHARED_B = PROVIDER_B


def _opened(original):
    @asynccontextmanager
    async def opened(*args, **settings):
        async with original(*args, **settings) as world:
            yield world
            calls = world.sandbox.upstreams["providerB"].calls
            assert not [call["path"] for call in calls if call["path"].startswith("/v1.0/me")]

    return opened


def _connected(original):
    async def connect(admin, sandbox, operator, provider, *, resource, scopes):
        if provider != "PROVIDER_B":
            return await original(
                admin, sandbox, operator, provider, resource=resource, scopes=scopes
            )
        return await _share(admin, sandbox, operator, "email", scopes, resource=resource)

    return connect


def _connected_calendars(original):
    async def connect(world, provider, *, resource, **more):
        import calendar_world

        if provider != "PROVIDER_B":
            return await original(world, provider, resource=resource, **more)
        scopes = calendar_world.SCOPES[provider]
        return await _share(
            world.admin,
            world.sandbox,
            world.operator_id,
            "calendar",
            scopes,
            resource=resource,
            **more,
        )

    return connect


async def _share(admin, sandbox, operator, kind, scopes, *, resource, **more):
    """Connect a person, and on this connection the mailbox; return the id of the latter."""
    import world as worlds

    from sandbox.mail.ids import PROVIDER_B, SHARED_B
    from sandbox.provider_b.mailbox_rights import grant

    person = sandbox.state.mails.account(SHARED_B).email
    grant(sandbox.state.database, PROVIDER_B, person, ["full-access", "send-as"])
    apart = {"name": "a person's own", "operatorIds": [operator]}
    base = {
        "resourceId": await worlds._made(admin, "resources", apart),
        "operatorId": operator,
        "kind": kind,
        "provider": "PROVIDER_B",
        "accountEmail": person,
        "grantedScopes": scopes,
        "credentials": {"accessToken": sandbox.state.tokens.issue("providerB", person, scopes)},
        **more,
    }
    owner = await worlds._made(admin, "connections", base)
    team = {"accountEmail": sandbox.state.mails.account(PROVIDER_B).email, "resourceId": resource}
    return int(await worlds._made(admin, f"connections/{owner}/shared", team))


def _sent(original):
    async def send_draft(world, provider, draft):
        if provider == "PROVIDER_A":
            await original(world, provider, draft)
        else:
            world.sandbox.state.mails.update(draft.mailbox, draft.id, folder="sent", new_id=True)

    return send_draft
