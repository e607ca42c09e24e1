"""Routes of the projects API, and the handler that runs them."""

import asyncio
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import orjson

from sandbox.http import Endpoint, Handler, Request, Response, Router, json_response, parse_target
from sandbox.projects import custom_fields, errors, projects, stories, tags, tasks, workspaces
from sandbox.projects.context import CallContext
from sandbox.projects.errors import ApiError
from sandbox.projects.store import ProjectStore
from sandbox.state import SandboxState

BASE = ("api", "1.0")  # first segments of every path; optional in the sandbox
SECTIONS = "project_sections:read"
_MAX_ACTIONS = 10  # of a batch

# (method, path, required scope, endpoint)
ROUTES = (
    ("GET", "/workspaces", "workspaces:read", workspaces.list_workspaces),
    ("GET", "/workspaces/{gid}", "workspaces:read", workspaces.get_workspace),
    ("GET", "/workspaces/{gid}/users", "users:read", workspaces.list_workspace_users),
    ("GET", "/workspaces/{gid}/teams", "teams:read", workspaces.list_teams),
    ("GET", "/workspaces/{gid}/projects", "projects:read", projects.list_workspace_projects),
    (
        "GET",
        "/workspaces/{gid}/custom_fields",
        "custom_fields:read",
        custom_fields.list_workspace_fields,
    ),
    ("GET", "/workspaces/{gid}/tags", "tags:read", tags.list_workspace_tags),
    ("GET", "/workspaces/{gid}/tasks/search", "tasks:read", tasks.search_tasks),
    ("GET", "/users", "users:read", workspaces.list_users),
    ("GET", "/users/{gid}", "users:read", workspaces.get_user),
    ("GET", "/projects", "projects:read", projects.list_projects),
    ("POST", "/projects", "projects:write", projects.create_project),
    ("GET", "/projects/{gid}", "projects:read", projects.get_project),
    ("PUT", "/projects/{gid}", "projects:write", projects.update_project),
    ("DELETE", "/projects/{gid}", "projects:delete", projects.delete_project),
    ("GET", "/projects/{gid}/sections", SECTIONS, projects.list_sections),
    ("POST", "/projects/{gid}/sections", "projects:write", projects.create_section),
    ("GET", "/projects/{gid}/tasks", "tasks:read", tasks.list_project_tasks),
    ("GET", "/projects/{gid}/task_counts", "projects:read", projects.count_tasks),
    ("GET", "/projects/{gid}/custom_field_settings", "projects:read", custom_fields.list_settings),
    ("POST", "/projects/{gid}/addCustomFieldSetting", "projects:write", custom_fields.add_field),
    ("GET", "/sections/{gid}", SECTIONS, projects.get_section),
    ("PUT", "/sections/{gid}", "projects:write", projects.update_section),
    ("DELETE", "/sections/{gid}", "projects:write", projects.delete_section),
    ("GET", "/sections/{gid}/tasks", "tasks:read", tasks.list_section_tasks),
    ("POST", "/sections/{gid}/addTask", "tasks:write", tasks.add_to_section),
    ("GET", "/tasks", "tasks:read", tasks.list_tasks),
    ("POST", "/tasks", "tasks:write", tasks.create_task),
    ("GET", "/tasks/{gid}", "tasks:read", tasks.get_task),
    ("PUT", "/tasks/{gid}", "tasks:write", tasks.update_task),
    ("DELETE", "/tasks/{gid}", "tasks:delete", tasks.delete_task),
    ("GET", "/tasks/{gid}/subtasks", "tasks:read", tasks.list_subtasks),
    ("POST", "/tasks/{gid}/subtasks", "tasks:write", tasks.create_subtask),
    ("GET", "/tasks/{gid}/stories", "stories:read", stories.list_stories),
    ("POST", "/tasks/{gid}/stories", "stories:write", stories.create_story),
    ("GET", "/tasks/{gid}/tags", "tasks:read", tasks.list_tags),
    ("GET", "/tasks/{gid}/projects", "tasks:read", tasks.list_projects),
    ("POST", "/tasks/{gid}/addProject", "tasks:write", tasks.add_project),
    ("POST", "/tasks/{gid}/removeProject", "tasks:write", tasks.remove_project),
    ("POST", "/tasks/{gid}/addTag", "tasks:write", tasks.add_tag),
    ("POST", "/tasks/{gid}/removeTag", "tasks:write", tasks.remove_tag),
    ("POST", "/tasks/{gid}/setParent", "tasks:write", tasks.set_parent),
    ("GET", "/stories/{gid}", "stories:read", stories.get_story),
    ("PUT", "/stories/{gid}", "stories:write", stories.update_story),
    ("DELETE", "/stories/{gid}", "stories:write", stories.delete_story),
    ("GET", "/tags", "tags:read", tags.list_tags),
    ("POST", "/tags", "tags:write", tags.create_tag),
    ("GET", "/tags/{gid}", "tags:read", tags.get_tag),
    ("GET", "/tags/{gid}/tasks", "tasks:read", tasks.list_tag_tasks),
    ("POST", "/custom_fields", "custom_fields:write", custom_fields.create_field),
    ("GET", "/custom_fields/{gid}", "custom_fields:read", custom_fields.get_field),
)


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of every path, with or without ``/api/1.0`` in front."""
    return ProjectEndpoints(ProjectStore(state.database, clock=state.clock))


class ProjectEndpoints:
    """The handler of requests to one store."""

    def __init__(self, store: ProjectStore) -> None:
        self._store = store
        self._routes = Router()
        self._scopes: dict[Endpoint, str] = {}
        for method, path, scope, endpoint in ROUTES:
            self._routes.add(method, path, endpoint)
            self._scopes[endpoint] = scope

    async def __call__(self, request: Request) -> Response | None:
        """Return the response to a call."""
        call = _strip_base(request)
        try:
            if call.segments == ("batch",) and request.method == "POST":
                return await self._run_batch(request)
            return self._run(call)
        except ApiError as error:
            return error.response()

    def _run(self, request: Request) -> Response:
        match = self._routes.find(request.method, request.segments)
        if match is None:
            return errors.error_response(404, "No matching route for request")
        endpoint, parameters = match
        context = self._create_context(request, self._scopes[endpoint])
        with nullcontext() if request.method == "GET" else self._store.database.transaction():
            response = endpoint(context, **parameters)
        if isinstance(response, Response):
            return response
        raise TypeError(request.path)

    def _create_context(self, request: Request, scope: str) -> CallContext:
        grant = request.grant
        user = None if grant is None else self._store.user_by_email(grant.account)
        if grant is None or user is None:
            raise ApiError(401, "Not Authorized")
        if grant.scopes and scope not in grant.scopes and "default" not in grant.scopes:
            raise ApiError(403, f"This token does not have the required scope: {scope}")
        return CallContext(store=self._store, user=user, request=request)

    async def _run_batch(self, request: Request) -> Response:
        """Run up to ten actions, each as a call of its own."""
        try:
            actions = request.json()["data"]["actions"]
        except (ValueError, KeyError, TypeError):
            raise errors.bad_request("actions: Missing input") from None
        if not isinstance(actions, list) or not 1 <= len(actions) <= _MAX_ACTIONS:
            raise errors.bad_request(f"actions: Must have between 1 and {_MAX_ACTIONS} actions")
        results = await asyncio.gather(*(self._run_action(request, action) for action in actions))
        return json_response({"data": results})

    async def _run_action(self, request: Request, action: Any) -> dict[str, Any]:
        if not isinstance(action, dict) or request.inner is None:
            raise errors.bad_request("actions: Value is not a JSON object")
        method = str(action.get("method", "get")).upper()
        segments, query = parse_target(str(action.get("relative_path", "")))
        data, options = action.get("data") or {}, action.get("options") or {}
        parameters = [("limit", str(options["limit"]))] if options.get("limit") else []
        if options.get("fields"):
            parameters.append(("opt_fields", ",".join(map(str, options["fields"]))))
        if method == "GET":
            parameters += [(name, str(value)) for name, value in data.items()]
        inner = replace(
            request,
            method=method,
            segments=segments,
            query=(*query, *parameters),
            body=b"" if method == "GET" else orjson.dumps({"data": data}),
            batch=request.batch or "1",
        )
        response = await request.inner(inner)
        return {
            "status_code": response.status,
            "headers": {},
            "body": orjson.loads(response.body) if response.body else {},
        }


def _strip_base(request: Request) -> Request:
    """Return a call with its path and URL relative to ``/api/1.0``."""
    if request.segments[: len(BASE)] != BASE:
        return request
    public = f"{request.public}/{'/'.join(BASE)}"
    return replace(request, public=public, segments=request.segments[len(BASE) :])
