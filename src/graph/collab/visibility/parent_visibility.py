"""
Names and sizes in answers that describe the surroundings of a resource: its folder, list and site.

A resource can be visible while its folder is not: an allow rule matches only the resource, or a
block rule only the folder. Its answer then omits the folder: docs/spec/rules.md#surroundings.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from graph.collab.visibility.access import AccessChecker
from providers.collab_ids import ListKey
from providers.failures import ProviderFailure
from providers.records.collab import UNKNOWN, File

_FOLDER_ATTRIBUTES = frozenset({"parent_folder_id", "parent_folder_name"})


async def site_name(access: AccessChecker, site: str) -> str | None:
    """Return the display name of a site; None when it is hidden or cannot be read now."""
    if not access.allows_site(site):
        return None
    try:
        return (await access.records.site(site)).display_name
    except ProviderFailure:
        return None


async def list_name(access: AccessChecker, key: ListKey) -> str | None:
    """Return the display name of a list; None when it is hidden or cannot be read now."""
    try:
        site_list = await access.records.site_list(key)
    except ProviderFailure:
        return None
    return site_list.display_name if access.visible_lists([site_list]) else None


async def redact_surroundings(
    access: AccessChecker, files: Sequence[File], fields: AbstractSet[str]
) -> tuple[File, ...]:
    """
    Remove from *files* what describes hidden surroundings.

    That is the parent folder, and the size of a folder, because it counts all of its contents.
    *fields* are the requested attributes.
    """
    if access.unrestricted:
        return tuple(files)
    redacted = tuple(
        msgspec.structs.replace(file, size=None)
        if file.is_folder and file.size is not None
        else file
        for file in files
    )
    if not fields & _FOLDER_ATTRIBUTES:
        return redacted
    parents = [
        file.parent for file in redacted if file.parent is not None and file.parent is not UNKNOWN
    ]
    visible = await access.visible_folders(parents)
    return tuple(
        file
        if file.parent in visible
        else msgspec.structs.replace(file, parent=UNKNOWN, parent_folder_name=None)
        for file in redacted
    )
