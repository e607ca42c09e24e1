"""The project provider's endpoints, each a row: method, path, the scope it needs, what answers."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import orjson

from sandbox.http import Endpoint, Handler, Request, Response, Router, json_response, parse_target
from sandbox.projects import errors, references, stories, tasks
from sandbox.projects.context import CallContext
from sandbox.projects.errors import ApiError
from sandbox.projects.store import ProjectStore
from sandbox.state import SandboxState

BASE = ("api", "1.0")  # the first segments of every path; the sandbox takes it without, too
_MOST_ACTIONS = 10  # of a batch

ROUTES = (
    ("GET", "/workspaces", "workspaces:read", references.workspaces),
    ("GET", "/workspaces/{gid}", "workspaces:read", references.workspace),
    ("GET", "/workspaces/{gid}/users", "users:read", references.workspace_users),
    ("GET", "/workspaces/{gid}/teams", "teams:read", references.teams),
    ("GET", "/workspaces/{gid}/projects", "projects:read", references.workspace_projects),
    ("GET", "/workspaces/{gid}/custom_fields", "custom_fields:read", references.workspace_fields),
    ("GET", "/workspaces/{gid}/tags", "tags:read", references.workspace_tags),
    ("GET", "/workspaces/{gid}/tasks/search", "tasks:read", tasks.search),
    ("GET", "/users", "users:read", references.users),
    ("GET", "/users/{gid}", "users:read", references.user),
    ("GET", "/projects", "projects:read", references.projects),
    ("POST", "/projects", "projects:write", references.create_project),
    ("GET", "/projects/{gid}", "projects:read", references.project),
    ("PUT", "/projects/{gid}", "projects:write", references.update_project),
    ("DELETE", "/projects/{gid}", "projects:delete", references.delete_project),
    ("GET", "/projects/{gid}/sections", "projects:read", references.sections),
    ("POST", "/projects/{gid}/sections", "projects:write", references.create_section),
    ("GET", "/projects/{gid}/tasks", "tasks:read", tasks.of_project),
    ("GET", "/projects/{gid}/task_counts", "projects:read", references.task_counts),
    ("GET", "/projects/{gid}/custom_field_settings", "projects:read", references.settings),
    ("POST", "/projects/{gid}/addCustomFieldSetting", "projects:write", references.add_field),
    ("GET", "/sections/{gid}", "projects:read", references.section),
    ("PUT", "/sections/{gid}", "projects:write", references.update_section),
    ("DELETE", "/sections/{gid}", "projects:write", references.delete_section),
    ("GET", "/sections/{gid}/tasks", "tasks:read", tasks.of_section),
    ("POST", "/sections/{gid}/addTask", "tasks:write", tasks.add_to_section),
    ("GET", "/tasks", "tasks:read", tasks.by_filter),
    ("POST", "/tasks", "tasks:write", tasks.create),
    ("GET", "/tasks/{gid}", "tasks:read", tasks.get),
    ("PUT", "/tasks/{gid}", "tasks:write", tasks.update),
    ("DELETE", "/tasks/{gid}", "tasks:delete", tasks.delete),
    ("GET", "/tasks/{gid}/subtasks", "tasks:read", tasks.below),
    ("POST", "/tasks/{gid}/subtasks", "tasks:write", tasks.create_below),
    ("GET", "/tasks/{gid}/stories", "stories:read", stories.of_task),
    ("POST", "/tasks/{gid}/stories", "stories:write", stories.create),
    ("GET", "/tasks/{gid}/tags", "tasks:read", tasks.tags),
    ("GET", "/tasks/{gid}/projects", "tasks:read", tasks.projects),
    ("POST", "/tasks/{gid}/addProject", "tasks:write", tasks.add_project),
    ("POST", "/tasks/{gid}/removeProject", "tasks:write", tasks.remove_project),
    ("POST", "/tasks/{gid}/addTag", "tasks:write", tasks.add_tag),
    ("POST", "/tasks/{gid}/removeTag", "tasks:write", tasks.remove_tag),
    ("POST", "/tasks/{gid}/setParent", "tasks:write", tasks.set_parent),
    ("GET", "/stories/{gid}", "stories:read", stories.get),
    ("PUT", "/stories/{gid}", "stories:write", stories.update),
    ("DELETE", "/stories/{gid}", "stories:write", stories.delete),
    ("GET", "/tags", "tags:read", references.tags),
    ("POST", "/tags", "tags:write", references.create_tag),
    ("GET", "/tags/{gid}", "tags:read", references.tag),
    ("GET", "/tags/{gid}/tasks", "tasks:read", tasks.of_tag),
    ("POST", "/custom_fields", "custom_fields:write", references.create_field),
    ("GET", "/custom_fields/{gid}", "custom_fields:read", references.field),
)


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of every path, with or without ``/api/1.0`` in front."""
    return ProjectEndpoints(ProjectStore(state.database, clock=state.clock))


class ProjectEndpoints:
    """The endpoints over one store."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store
        self._routes = Router()
        self._scopes: dict[Endpoint, str] = {}
        for method, path, scope, endpoint in ROUTES:
            self._routes.add(method, path, endpoint)
            self._scopes[endpoint] = scope

    async def __call__(self, request: Request) -> Response | None:
        """Answer a call."""
        below = _below(request)
        try:
            if below.segments == ("batch",) and request.method == "POST":
                return await self._batch(request)
            return self._answer(below)
        except ApiError as refusal:
            return refusal.answer()

    def _answer(self, request: Request) -> Response:
        found = self._routes.find(request.method, request.segments)
        if found is None:
            return errors.error_response(404, "No matching route for request")
        endpoint, taken = found
        context = self._context(request, self._scopes[endpoint])
        with nullcontext() if request.method == "GET" else self._store.db.transaction():
            answer = endpoint(context, **taken)
        if isinstance(answer, Response):
            return answer
        raise TypeError(request.path)

    def _context(self, request: Request, scope: str) -> CallContext:
        grant = request.grant
        me = None if grant is None else self._store.user_by_email(grant.account)
        if grant is None or me is None:
            raise ApiError(401, "Not Authorized")
        if grant.scopes and scope not in grant.scopes and "default" not in grant.scopes:
            raise ApiError(403, f"This token does not have the required scope: {scope}")
        return CallContext(store=self._store, me=me, request=request)

    async def _batch(self, request: Request) -> Response:
        """Run up to ten actions, each a call of its own."""
        try:
            actions = request.json()["data"]["actions"]
        except (ValueError, KeyError, TypeError):
            raise errors.bad_request("actions: Missing input") from None
        if not isinstance(actions, list) or not 1 <= len(actions) <= _MOST_ACTIONS:
            raise errors.bad_request(f"actions: Must have between 1 and {_MOST_ACTIONS} actions")
        return json_response(
            {"data": await asyncio.gather(*(self._act(request, action) for action in actions))}
        )

    async def _act(self, request: Request, action: Any) -> dict[str, Any]:
        if not isinstance(action, dict) or request.inner is None:
            raise errors.bad_request("actions: Value is not a JSON object")
        method = str(action.get("method", "get")).upper()
        segments, query = parse_target(str(action.get("relative_path", "")))
        data, options = action.get("data") or {}, action.get("options") or {}
        asked = [("limit", str(options["limit"]))] if options.get("limit") else []
        if options.get("fields"):
            asked.append(("opt_fields", ",".join(map(str, options["fields"]))))
        if method == "GET":
            asked += [(name, str(value)) for name, value in data.items()]
        inner = replace(
            request,
            method=method,
            segments=segments,
            query=(*query, *asked),
            body=b"" if method == "GET" else orjson.dumps({"data": data}),
            batch=request.batch or "1",
        )
        answer = await request.inner(inner)
        return {
            "status_code": answer.status,
            "headers": {},
            "body": orjson.loads(answer.body) if answer.body else {},
        }


def _below(request: Request) -> Request:
    """Return a call as seen from below ``/api/1.0``."""
    if request.segments[: len(BASE)] != BASE:
        return request
    public = f"{request.public}/{'/'.join(BASE)}"
    return replace(request, public=public, segments=request.segments[len(BASE) :])
