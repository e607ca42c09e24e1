"""
Changes of files, folders and permissions.

See docs/spec/upstream/microsoft-files.md#file-operations and docs/spec/collab.md#lost-responses.
"""

from collections.abc import Mapping
from typing import Any

from providers.collab_ids import ROOT, ItemKey, same_drive, same_item
from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext, if_match
from providers.connectors.collab.failures import refused
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.failures import Broken, Missing, Refused
from providers.http.response import Response
from providers.outcomes import unknown_if_ambiguous
from providers.ports.collab import InvalidDestination, Share
from providers.records import collab as records

CONFLICT = "@microsoft.graph.conflictBehavior"
# Upstream shares with readers and writers (docs/spec/collab.md#sharing).
_UPSTREAM_ROLES = {"reader": "read", "writer": "write"}
_LINK_SCOPES = {"anyone": "anonymous", "domain": "organization"}
_RETURNED_ATTRIBUTES = frozenset({"name", "size", "etag", "site", "list_id", "list_item_id"})


class FileWriter:
    """Changes files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None
    ) -> records.File:
        """Create a folder; Conflicted when the name is taken."""
        body: dict[str, Any] = {"name": name, "folder": {}, CONFLICT: "fail"}
        if description:  # upstream stores it in some libraries only
            body["description"] = description
        with unknown_if_ambiguous():
            response = await self._call("POST", parent, "children", json=body)
            return self._written_file(response, within=parent.drive)

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Rename a file; Stale when it is no longer at *etag*."""
        body = {"name": name, CONFLICT: "fail"}
        response = await self._call("PATCH", key, json=body, headers=if_match(etag))
        return self._changed_file(response, key)

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move a file within its library; Stale when it is no longer at *etag*."""
        if not same_drive(folder.drive, key.drive):
            raise InvalidDestination("The destination is in another library.")
        await self._sites.admit_drive(key.drive)
        target = folder.item
        if target == ROOT:  # upstream takes no "root" here, only an id
            select = (("$select", "id"),)
            root = await self._context.read(
                response_types.Item, "drives", key.drive, "root", params=select
            )
            target = root.id
        body = {"parentReference": {"id": target}, CONFLICT: "fail"}
        try:
            response = await self._call("PATCH", key, json=body, headers=if_match(etag))
        except Refused as refusal:
            if refusal.status == 400:
                raise InvalidDestination("The provider cannot move it there.") from refusal
            raise
        return self._changed_file(response, key)

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Move a file to the recycle bin; Stale when it is no longer at *etag*."""
        await self._call("DELETE", key, headers=if_match(etag))

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Add a permission; return its id, None when upstream does not tell it."""
        role = _UPSTREAM_ROLES[share.role]
        if share.type in _LINK_SCOPES:
            body = {"type": "view" if role == "read" else "edit", "scope": _LINK_SCOPES[share.type]}
            with unknown_if_ambiguous():
                link = await self._call("POST", key, "createLink", json=body)
                return link.decode(response_types.Permission).id or None
        invitation = {
            "recipients": [{"email": share.email}],
            "roles": [role],
            "requireSignIn": True,
            "sendInvitation": share.notify,
            **({"message": share.message} if share.message else {}),
        }
        with unknown_if_ambiguous():
            response = await self._call("POST", key, "invite", json=invitation)
            permissions = response.decode(ODataPage[response_types.Permission]).value
        refusals = [permission.error for permission in permissions if permission.error is not None]
        if refusals:  # in a 2xx response
            self._context.upstream.collect(response)
            raise refused(refusals[0].words(), status=400)
        return next((permission.id for permission in permissions if permission.id), None)

    async def update_permission(self, key: ItemKey, permission_id: str, role: str) -> None:
        """Change a permission's role, to "reader" or "writer"."""
        body = {"roles": [_UPSTREAM_ROLES[role]]}
        await self._call("PATCH", key, "permissions", permission_id, json=body)

    async def delete_permission(self, key: ItemKey, permission_id: str) -> None:
        """Remove a permission."""
        await self._call("DELETE", key, "permissions", permission_id)

    async def _call(
        self,
        method: str,
        key: ItemKey,
        *rest: str,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """
        Make a change without retries; the caller interprets an unreadable response.

        Raises:
            OutcomeUnknown: The response was lost.
        """
        await self._sites.admit_drive(key.drive)
        address = ("root",) if key.item == ROOT else ("items", key.item)
        with self._context.translate_refused_writes(), unknown_if_ambiguous():
            return await self._context.upstream.call(
                method, V1, "drives", key.drive, *address, *rest, json=json, headers=headers or {}
            )

    def _written_file(self, response: Response, *, within: str) -> records.File:
        file = mapping.file(
            response.decode(response_types.Item), _RETURNED_ATTRIBUTES, within=within
        )
        if file is None:
            raise Broken
        return file

    def _changed_file(self, response: Response, key: ItemKey) -> records.File:
        file = self._written_file(response, within=key.drive)
        if not same_item(file.key, key):
            raise Missing
        return file
