"""Endpoints of stories: comments on a task and events in its history."""

import msgspec

from sandbox.http import Response
from sandbox.projects import errors
from sandbox.projects.context import CallContext
from sandbox.projects.records import Story
from sandbox.projects.rich_text import strip_markup


def list_stories(context: CallContext, gid: str) -> Response:
    """List the stories of a task, oldest first."""
    stories = context.store.stories.of(context.get_task(gid).id)
    stories_by_time = sorted(stories, key=lambda story: (story.created_at, story.id))
    return context.list_response("story", stories_by_time)


def create_story(context: CallContext, gid: str) -> Response:
    """Add a comment to a task."""
    task = context.get_task(gid)
    text, rich_text = _parse_text(context)
    story = context.store.add_story(task, text, creator=context.user.id, html_text=rich_text)
    context.store.change_task(task)
    return context.record_response("story", story, status=201)


def get_story(context: CallContext, gid: str) -> Response:
    """Return a story."""
    return context.record_response("story", _get_story(context, gid))


def update_story(context: CallContext, gid: str) -> Response:
    """Change the text of a comment of the caller."""
    story = _own_comment(context, gid)
    text, rich_text = _parse_text(context)
    story = msgspec.structs.replace(story, text=text, html_text=rich_text, is_edited=True)
    return context.record_response("story", context.store.stories.put(story))


def delete_story(context: CallContext, gid: str) -> Response:
    """Delete a comment of the caller."""
    context.store.stories.drop(_own_comment(context, gid).id)
    return context.empty_response()


def _parse_text(context: CallContext) -> tuple[str, str | None]:
    text, rich_text = context.data.get("text"), context.data.get("html_text")
    if isinstance(rich_text, str) and text is None:
        if not rich_text.startswith("<body>"):
            raise errors.bad_request("html_text: XML is invalid")
        return strip_markup(rich_text), rich_text
    if not isinstance(text, str) or not text:
        raise errors.bad_request("text: Missing input")
    return text, None


def _own_comment(context: CallContext, gid: str) -> Story:
    story = _get_story(context, gid)
    if story.kind != "comment" or story.creator != context.user.id:
        raise errors.forbidden("story")
    return story


def _get_story(context: CallContext, gid: str) -> Story:
    story = context.store.stories.find(gid)
    if story is None:
        raise errors.not_found("story", gid)
    context.get_task(story.owner)
    return story
