"""Feeds of changes of `content_world`, and edits of their tokens."""

from feed_client import Feed


def feed_of(content, token):
    """Return a client of a feed with one token."""
    feed = Feed(lambda: content.client(token))
    feed.token = token
    return feed


async def new_token(content, *rules, **settings):
    """Return a token that no other test has, and its id."""
    content._tokens.clear()
    return await content.token(*rules, **settings)


async def edit(content, token, rules=None, **settings):
    """Change the rules and settings of a token."""
    async with content.client(token) as mine:
        token_id = (await mine.get("/api/access/token")).json()["id"]
    path = f"/api/access-tokens/{token_id}"
    admin = content.world.admin
    if rules is not None:
        listed = [
            {"ruleType": kind, "pattern": pattern, "action": action}
            for kind, pattern, action in rules
        ]
        changed = await admin.put(f"{path}/collab-rules", json={"rules": listed})
        assert changed.status_code == 200, changed.text
    if settings:
        changed = await admin.patch(path, json={"settings": settings})
        assert changed.status_code == 200, changed.text


def shelf(content):
    """Return the store of the content."""
    return content.world.sandbox.state.content


def calls(content):
    """Return the method and the path of each upstream call."""
    return [(call["method"], call["path"]) for call in content.calls()]
