"""Stories: what happened to a task, comments among it, oldest first."""

import msgspec

from sandbox.http import Response
from sandbox.projects import errors, views
from sandbox.projects.context import Desk
from sandbox.projects.records import Story


def of_task(desk: Desk, gid: str) -> Response:
    """List a task's stories."""
    found = desk.store.stories.of(desk.task(gid).id)
    return desk.many("story", sorted(found, key=lambda one: (one.created_at, one.id)))


def create(desk: Desk, gid: str) -> Response:
    """Comment on a task."""
    task = desk.task(gid)
    text, markup = _text(desk)
    story = desk.store.add_story(task, text, creator=desk.me.id, html_text=markup)
    desk.store.change_task(task)
    return desk.one("story", story, status=201)


def get(desk: Desk, gid: str) -> Response:
    """Show a story."""
    return desk.one("story", _story(desk, gid))


def update(desk: Desk, gid: str) -> Response:
    """Change the text of one's own comment."""
    story = _mine(desk, gid)
    text, markup = _text(desk)
    new = msgspec.structs.replace(story, text=text, html_text=markup, is_edited=True)
    return desk.one("story", desk.store.stories.put(new))


def delete(desk: Desk, gid: str) -> Response:
    """Delete one's own comment."""
    desk.store.stories.drop(_mine(desk, gid).id)
    return desk.nothing()


def _text(desk: Desk) -> tuple[str, str | None]:
    text, markup = desk.data.get("text"), desk.data.get("html_text")
    if isinstance(markup, str) and text is None:
        if not markup.startswith("<body>"):
            raise errors.bad("html_text: XML is invalid")
        return views.plain(markup), markup
    if not isinstance(text, str) or not text:
        raise errors.bad("text: Missing input")
    return text, None


def _mine(desk: Desk, gid: str) -> Story:
    story = _story(desk, gid)
    if story.kind != "comment" or story.creator != desk.me.id:
        raise errors.forbidden("story")
    return story


def _story(desk: Desk, gid: str) -> Story:
    story = desk.store.stories.find(gid)
    if story is None:
        raise errors.unknown("story", gid)
    desk.task(story.owner)
    return story
