"""Changing files and folders of one connection. Source: wire report 1D.4; reliability F4."""

from collections.abc import Mapping
from typing import Any

from providers.connectors.collab import mapping, response_types
from providers.connectors.collab.connection_context import V1, ConnectionContext
from providers.connectors.collab.files.sites_and_libraries import SiteReader
from providers.connectors.collab.paging import ODataPage
from providers.content.ids import ROOT, ItemKey
from providers.failures import Broken, Missing, Refused
from providers.http.response import Response
from providers.outcomes import unknown_if_ambiguous
from providers.ports.collab import InvalidDestination, Share
from providers.records import collab as records

CONFLICT = "@microsoft.graph.conflictBehavior"
_ROLE_WORDS = {"reader": "read", "writer": "write"}
_LINKS = {"anyone": "anonymous", "domain": "organization"}
_BRIEF = frozenset({"name", "size", "etag", "site", "list_id", "list_item_id"})


class FileWriter:
    """Changes files."""

    def __init__(self, context: ConnectionContext, sites: SiteReader) -> None:
        self._context = context
        self._sites = sites

    async def create_folder(
        self, parent: ItemKey, name: str, *, description: str | None
    ) -> records.File:
        """Make a folder; see `FileWritePort.create_folder`."""
        body: dict[str, Any] = {"name": name, "folder": {}, CONFLICT: "fail"}
        if description:  # upstream keeps it in some libraries only; wire report 6, 30
            body["description"] = description
        with unknown_if_ambiguous():
            answer = await self._call("POST", parent, "children", json=body)
            return self._told(answer, within=parent.drive)

    async def rename(self, key: ItemKey, name: str, *, etag: str | None) -> records.File:
        """Give a new name; see `FileWritePort.rename`."""
        body = {"name": name, CONFLICT: "fail"}
        answer = await self._call("PATCH", key, json=body, headers=_if_match(etag))
        return self._same(answer, key)

    async def move(self, key: ItemKey, folder: ItemKey, *, etag: str | None) -> records.File:
        """Move within a library; see `FileWritePort.move`."""
        if folder.drive != key.drive:
            raise InvalidDestination("The destination is in another library.")
        await self._sites.admit_drive(key.drive)
        target = folder.item
        if target == ROOT:  # here upstream takes its id alone
            select = (("$select", "id"),)
            root = await self._context.read(
                response_types.Item, "drives", key.drive, "root", params=select
            )
            target = root.id
        body = {"parentReference": {"id": target}, CONFLICT: "fail"}
        try:
            answer = await self._call("PATCH", key, json=body, headers=_if_match(etag))
        except Refused as refusal:
            if refusal.status == 400:
                raise InvalidDestination("The provider cannot move it there.") from refusal
            raise
        return self._same(answer, key)

    async def delete(self, key: ItemKey, *, etag: str | None) -> None:
        """Put into the recycle bin; see `FileWritePort.delete`."""
        await self._call("DELETE", key, headers=_if_match(etag))

    async def share(self, key: ItemKey, share: Share) -> str | None:
        """Give a permission; see `FileWritePort.share`."""
        role = _ROLE_WORDS.get(share.role)
        if role is None:
            raise Refused("The provider knows no commenters.", status=400, word="notSupported")
        if share.type in _LINKS:
            body = {"type": "view" if role == "read" else "edit", "scope": _LINKS[share.type]}
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
            answer = await self._call("POST", key, "invite", json=invitation)
            given = answer.decode(ODataPage[response_types.Permission]).value
        if any(one.error is not None for one in given):  # told inside of a success; 1D.4
            raise Refused(status=400, word="sharingFailed")
        return next((one.id for one in given if one.id), None)

    async def update_permission(self, key: ItemKey, permission: str, role: str) -> None:
        """Change a permission's role; see `FileWritePort.update_permission`."""
        word = _ROLE_WORDS.get(role)
        if word is None:
            raise Refused("The provider knows no commenters.", status=400, word="notSupported")
        body = {"roles": [word]}
        await self._call("PATCH", key, "permissions", permission, json=body)

    async def delete_permission(self, key: ItemKey, permission: str) -> None:
        """Take a permission away; see `FileWritePort.delete_permission`."""
        await self._call("DELETE", key, "permissions", permission)

    async def _call(
        self,
        method: str,
        key: ItemKey,
        *rest: str,
        json: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """
        Make a change once; an answer that cannot be read is for the caller to judge.

        Raises:
            OutcomeUnknown: The answer was lost.
        """
        await self._sites.admit_drive(key.drive)
        where = ("root",) if key.item == ROOT else ("items", key.item)
        with unknown_if_ambiguous():
            return await self._context.upstream.call(
                method, V1, "drives", key.drive, *where, *rest, json=json, headers=headers or {}
            )

    def _told(self, answer: Response, *, within: str) -> records.File:
        found = mapping.file(answer.decode(response_types.Item), _BRIEF, within=within)
        if found is None:
            raise Broken
        return found

    def _same(self, answer: Response, key: ItemKey) -> records.File:
        found = self._told(answer, within=key.drive)
        if found.key != key:
            raise Missing
        return found


def _if_match(etag: str | None) -> Mapping[str, str]:
    return {"if-match": etag} if etag else {}
