"""Listing of projects, by workspace or, for a token's scope, by id."""

import asyncio
import re
from collections.abc import Set as AbstractSet

from providers.connectors.projects import mapping, response_types
from providers.connectors.projects.paged_reader import PagedReader, Source
from providers.connectors.projects.rest_client import ProjectClient
from providers.failures import Missing, Refused
from providers.ports.tasks import BoardQuery, BoardSlice, TaskPosition

_ID = re.compile(r"[0-9]{1,32}")
_CONCURRENCY = 8  # projects of a scope that are read at the same time


class ProjectList:
    """The projects of an account that match a query."""

    def __init__(
        self, client: ProjectClient, query: BoardQuery, projection: AbstractSet[str]
    ) -> None:
        self._client = client
        self._query = query
        self._fields = mapping.board_fields(projection | {"name"})

    async def page(self, after: TaskPosition | None) -> BoardSlice:
        """Return the projects after a position, up to the query's limit."""
        if self._query.only is not None:
            return await self._by_id(self._query.only, after)
        workspaces = await self._client.read_all(
            response_types.NamedPage, "workspaces", fields="gid"
        )
        archived = () if self._query.archived else (("archived", "false"),)
        sources = [
            Source(workspace.gid, ("projects",), (("workspace", workspace.gid), *archived))
            for workspace in workspaces
        ]
        keep = self._is_listed if self._query.text else None
        reader = PagedReader(
            self._client, response_types.ProjectPage, sources, fields=self._fields, keep=keep
        )
        projects, position = await reader.page(after, self._query.limit)
        return BoardSlice(tuple(map(mapping.board, projects)), position)

    async def _by_id(self, only: AbstractSet[str], after: TaskPosition | None) -> BoardSlice:
        """Return projects by their ids; missing and forbidden projects are left out."""
        ids = sorted(filter(_ID.fullmatch, only))
        if after is not None:
            ids = [project_id for project_id in ids if project_id > after.last]
        boards = []
        for start in range(0, len(ids), _CONCURRENCY):
            projects = await asyncio.gather(*map(self._project, ids[start : start + _CONCURRENCY]))
            for seen, project in enumerate(projects, start + 1):
                if project is None or not self._is_listed(project):
                    continue
                boards.append(mapping.board(project))
                if len(boards) == self._query.limit:
                    position = TaskPosition(seen, project.gid) if seen < len(ids) else None
                    return BoardSlice(tuple(boards), position)
        return BoardSlice(tuple(boards), None)

    async def _project(self, board_id: str) -> response_types.Project | None:
        try:
            response = await self._client.read(
                response_types.ProjectResponse, "projects", board_id, fields=self._fields
            )
        except Missing:
            return None
        except Refused as refusal:
            if refusal.status == 403:
                return None
            raise
        return response.data

    def _is_listed(self, project: response_types.Project) -> bool:
        text = (self._query.text or "").casefold()
        return (self._query.archived or not project.archived) and text in (
            project.name or ""
        ).casefold()
