"""Checks of an Asana account."""

import msgspec

from providers.failures import Refused
from providers.http.client import Upstream
from providers.ports.checks import Account, Check, Observation, Outcome, expect

_ASANA = ("api", "1.0")


class _Record(msgspec.Struct):
    gid: str = ""
    team: dict[str, object] | None = None
    memberships: list[dict[str, object]] | None = None


class _Records(msgspec.Struct):
    data: list[_Record] = []


async def _projects(upstream: Upstream, fields: str) -> list[_Record]:
    """Read some projects of the first workspace; empty when there are none."""
    workspaces = await _read(upstream, "workspaces")
    if not workspaces:
        return []
    return await _read(upstream, "projects", fields=fields, workspace=workspaces[0].gid)


async def _read(upstream: Upstream, *path: str, **params: str) -> list[_Record]:
    fields = params.pop("fields", "")
    query = (("limit", "5"), ("opt_fields", fields), *params.items())
    response = await upstream.call("GET", *_ASANA, *path, params=query)
    return response.decode(_Records).data


async def _teams(account: Account) -> Observation:
    projects = await _projects(account.upstream, "team.name")
    return expect(
        any(project.team for project in projects),
        "Projects name their team.",
        "No project names its team: the application lacks teams:read, or there is none. Boards "
        "then have no folder.",
    )


async def _sections(account: Account) -> Observation:
    projects = await _projects(account.upstream, "name")
    if not projects:
        return Outcome.DIFFERS, "There is no project to try."
    try:
        sections = await _read(
            account.upstream, "projects", projects[0].gid, "sections", fields="name"
        )
    except Refused:
        sections = []
    return expect(
        bool(sections),
        "Sections are listed.",
        "Sections are not listed: without the application's Full permissions boards have no "
        "groups.",
    )


async def _memberships(account: Account) -> Observation:
    projects = await _projects(account.upstream, "name")
    fields = "memberships.project.gid,memberships.section.gid"
    tasks = [
        task
        for project in projects[:1]
        for task in await _read(account.upstream, "projects", project.gid, "tasks", fields=fields)
    ]
    named = [part for task in tasks for part in task.memberships or () if part.get("section")]
    return expect(
        bool(named),
        "Tasks name their project and section.",
        "No task names its section: the application lacks project_sections:read, or there is "
        "none. Items then have no group.",
    )


TASKS = (Check("teams", _teams), Check("sections", _sections), Check("memberships", _memberships))
