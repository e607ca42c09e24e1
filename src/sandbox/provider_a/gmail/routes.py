"""
Paths of the Gmail API, and the checks of every call.

See docs/spec/upstream/gmail.md.
"""

from collections.abc import Callable
from typing import Any

from sandbox.http import Handler, Request, Response, Router, json_response
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a import partial_response
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.gmail import parameters
from sandbox.provider_a.gmail.drafts import DraftEndpoints
from sandbox.provider_a.gmail.field_names import KNOWN
from sandbox.provider_a.gmail.history import HistoryEndpoint
from sandbox.provider_a.gmail.label_endpoints import LabelEndpoints
from sandbox.provider_a.gmail.messages import MessageViews
from sandbox.provider_a.gmail.reading import ReadEndpoints
from sandbox.provider_a.gmail.watches import Watches
from sandbox.provider_a.gmail.writing import WriteEndpoints
from sandbox.state import SandboxState

_ROOT = ("gmail", "v1", "users")


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of paths below ``gmail``."""
    messages = MessageViews(state)
    reading = ReadEndpoints(state, messages)
    writing = WriteEndpoints(state, messages, reading)
    drafts = DraftEndpoints(state, messages, reading)
    history, watches = HistoryEndpoint(state), Watches(state)
    routes = _routes(reading, writing, LabelEndpoints(state), drafts, history, watches=watches)

    async def handle(request: Request) -> Response | None:
        if request.segments[:3] != _ROOT or len(request.segments) < 5:
            return None
        route = routes.find(request.method, request.segments[4:])
        if route is None:
            return None
        return respond(state, request, lambda: route[0](request, **route[1]))

    return handle


def respond(state: SandboxState, request: Request, run: Callable[[], Any]) -> Response:
    """Check user and parameters, run an endpoint, and apply ``fields`` to its content."""
    try:
        user_index = request.segments.index("users") + 1
        _check_user(state, request.segments[user_index])
        parameters.check(request, request.segments[user_index + 1 :])
        selection = partial_response.parse(request.first("fields"))
        partial_response.check(selection, KNOWN)
        content = run()
    except GoogleError as error:
        return error.response()
    except partial_response.BadSelection as problem:
        return GoogleError(400, str(problem), "invalidParameter").response()
    if content is None:
        return Response(status=204)
    headers = {"cache-control": "private", "vary": "Origin, X-Origin, Referer"}
    return json_response(partial_response.apply(content, selection), headers=headers)


def _check_user(state: SandboxState, user: str) -> None:
    if user.lower() not in {"me", state.mails.account(PROVIDER_A).email.lower()}:
        raise GoogleError(403, f"Delegation denied for {user}", "forbidden")


def _routes(
    reading: ReadEndpoints,
    writing: WriteEndpoints,
    labels: LabelEndpoints,
    drafts: DraftEndpoints,
    history: HistoryEndpoint,
    *,
    watches: Watches,
) -> Router:
    routes = Router()
    rows: tuple[tuple[str, str, Any], ...] = (
        ("GET", "profile", reading.profile),
        ("GET", "settings/sendAs", reading.send_as),
        ("GET", "history", history.page),
        ("POST", "watch", watches.watch),
        ("POST", "stop", watches.stop),
        ("GET", "messages", reading.list_messages),
        ("POST", "messages", writing.insert),
        ("POST", "messages/send", writing.send),
        ("POST", "messages/import", writing.import_),
        ("POST", "messages/batchModify", writing.batch_modify),
        ("POST", "messages/batchDelete", writing.batch_delete),
        ("GET", "messages/{message}", reading.get_message),
        ("DELETE", "messages/{message}", writing.delete),
        ("POST", "messages/{message}/modify", writing.modify),
        ("POST", "messages/{message}/trash", writing.trash),
        ("POST", "messages/{message}/untrash", writing.untrash),
        ("GET", "messages/{message}/attachments/{attachment}", reading.get_attachment),
        ("GET", "threads", reading.list_threads),
        ("GET", "threads/{thread}", reading.get_thread),
        ("DELETE", "threads/{thread}", writing.delete_thread),
        ("POST", "threads/{thread}/modify", writing.modify_thread),
        ("POST", "threads/{thread}/trash", writing.trash_thread),
        ("POST", "threads/{thread}/untrash", writing.untrash_thread),
        ("GET", "labels", labels.list),
        ("POST", "labels", labels.create),
        ("GET", "labels/{label}", labels.get),
        ("PATCH", "labels/{label}", labels.change),
        ("PUT", "labels/{label}", labels.change),
        ("DELETE", "labels/{label}", labels.delete),
        ("GET", "drafts", drafts.list),
        ("POST", "drafts", drafts.create),
        ("POST", "drafts/send", drafts.send),
        ("GET", "drafts/{draft}", drafts.get),
        ("PUT", "drafts/{draft}", drafts.update),
        ("DELETE", "drafts/{draft}", drafts.delete),
    )
    for method, pattern, endpoint in rows:
        routes.add(method, pattern, endpoint)
    return routes
