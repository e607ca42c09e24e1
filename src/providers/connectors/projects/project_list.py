"""The list of projects, workspace by workspace, or those of a token's scope one by one."""

import asyncio
import re
from collections.abc import Set as AbstractSet

from providers.connectors.projects import mapping, response_types
from providers.connectors.projects.paged_reader import PagedReader, Source
from providers.connectors.projects.rest_client import ProjectClient
from providers.failures import Missing, Refused
from providers.ports.tasks import BoardQuery, BoardSlice, TaskPosition

_ID = re.compile(r"[0-9]{1,32}")
_AT_ONCE = 8  # projects of a scope read at the same time
_MOST_PAGES = 20  # of workspaces


class ProjectList:
    """The projects of an account that a query asks for."""

    def __init__(self, client: ProjectClient, query: BoardQuery, wanted: AbstractSet[str]) -> None:
        self._client = client
        self._query = query
        self._fields = mapping.board_fields(wanted | {"name"})

    async def page(self, after: TaskPosition | None) -> BoardSlice:
        """Return up to the query's limit after a position."""
        if self._query.only is not None:
            return await self._chosen(self._query.only, after)
        spaces = await self._client.every(
            response_types.NamedPage, "workspaces", fields="gid", most=_MOST_PAGES
        )
        archived = () if self._query.archived else (("archived", "false"),)
        sources = [
            Source(space.gid, ("projects",), (("workspace", space.gid), *archived))
            for space in spaces
        ]
        keep = self._is_listed if self._query.text else None
        walk = PagedReader(
            self._client, response_types.ProjectPage, sources, fields=self._fields, keep=keep
        )
        found, position = await walk.page(after, self._query.limit)
        return BoardSlice(tuple(map(mapping.board, found)), position)

    async def _chosen(self, only: AbstractSet[str], after: TaskPosition | None) -> BoardSlice:
        """Return projects by their ids; those that are not there, or not ours, are left out."""
        ids = sorted(one for one in only if _ID.fullmatch(one))
        left = [id_ for id_ in ids if after is None or id_ > after.last]
        boards = []
        for start in range(0, len(left), _AT_ONCE):
            found = await asyncio.gather(*map(self._project, left[start : start + _AT_ONCE]))
            for place, given in enumerate(found, start + 1):
                if given is None or not self._is_listed(given):
                    continue
                boards.append(mapping.board(given))
                if len(boards) == self._query.limit:
                    position = TaskPosition(place, given.gid) if place < len(left) else None
                    return BoardSlice(tuple(boards), position)
        return BoardSlice(tuple(boards), None)

    async def _project(self, board_id: str) -> response_types.Project | None:
        try:
            found = await self._client.read(
                response_types.ProjectResponse, "projects", board_id, fields=self._fields
            )
        except Missing:
            return None
        except Refused as refusal:
            if refusal.status == 403:
                return None
            raise
        return found.data

    def _is_listed(self, project: response_types.Project) -> bool:
        text = (self._query.text or "").casefold()
        return (self._query.archived or not project.archived) and text in (
            project.name or ""
        ).casefold()
