"""Stories: what happened to a task, comments among it, oldest first."""

import msgspec

from sandbox.http import Response
from sandbox.projects import errors, views
from sandbox.projects.context import CallContext
from sandbox.projects.records import Story


def of_task(context: CallContext, gid: str) -> Response:
    """List a task's stories."""
    found = context.store.stories.of(context.task(gid).id)
    return context.many("story", sorted(found, key=lambda one: (one.created_at, one.id)))


def create(context: CallContext, gid: str) -> Response:
    """Comment on a task."""
    task = context.task(gid)
    text, markup = _text(context)
    story = context.store.add_story(task, text, creator=context.me.id, html_text=markup)
    context.store.change_task(task)
    return context.one("story", story, status=201)


def get(context: CallContext, gid: str) -> Response:
    """Show a story."""
    return context.one("story", _story(context, gid))


def update(context: CallContext, gid: str) -> Response:
    """Change the text of one's own comment."""
    story = _mine(context, gid)
    text, markup = _text(context)
    new = msgspec.structs.replace(story, text=text, html_text=markup, is_edited=True)
    return context.one("story", context.store.stories.put(new))


def delete(context: CallContext, gid: str) -> Response:
    """Delete one's own comment."""
    context.store.stories.drop(_mine(context, gid).id)
    return context.nothing()


def _text(context: CallContext) -> tuple[str, str | None]:
    text, markup = context.data.get("text"), context.data.get("html_text")
    if isinstance(markup, str) and text is None:
        if not markup.startswith("<body>"):
            raise errors.bad_request("html_text: XML is invalid")
        return views.strip_markup(markup), markup
    if not isinstance(text, str) or not text:
        raise errors.bad_request("text: Missing input")
    return text, None


def _mine(context: CallContext, gid: str) -> Story:
    story = _story(context, gid)
    if story.kind != "comment" or story.creator != context.me.id:
        raise errors.forbidden("story")
    return story


def _story(context: CallContext, gid: str) -> Story:
    story = context.store.stories.find(gid)
    if story is None:
        raise errors.not_found("story", gid)
    context.task(story.owner)
    return story
