"""
What answers tell of the places around a thing: its folder, list and site, if they may be seen.

A thing may be seen where its folder may not: an allow rule matches the one and not the other, or a
block rule names the folder alone. Then its answer is silent about the folder. Source: decisions 4;
ADR 0007.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec

from graph.collab.visibility.access import AccessChecker
from graph.context import Context
from providers.content.ids import ListKey
from providers.failures import Missing, ProviderFailure
from providers.records.collab import UNKNOWN, File

_OF_FOLDER = frozenset({"parent_folder_id", "parent_folder_name"})


async def site_name(context: Context, access: AccessChecker, site: str) -> str | None:
    """Return the display name of a site; None when it may not or cannot be read just now."""
    if not access.allows_site(site):
        return None
    try:
        return (await context.content.site(site)).display_name
    except (Missing, ProviderFailure):
        return None


async def list_name(context: Context, access: AccessChecker, key: ListKey) -> str | None:
    """Return the display name of a list; None when it may not or cannot be read just now."""
    try:
        found = await context.content.site_list(key)
    except ProviderFailure:
        return None
    return found.display_name if access.visible_lists([found]) else None


async def redact_surroundings(
    access: AccessChecker, files: Sequence[File], fields: AbstractSet[str]
) -> tuple[File, ...]:
    """
    Take off *files* what tells of things around them that may not be seen.

    That is the folder above, and the size of a folder, which counts everything inside. *fields*
    are the attributes that are shown.
    """
    if access.unrestricted:
        return tuple(files)
    told = tuple(
        msgspec.structs.replace(one, size=None) if one.is_folder and one.size is not None else one
        for one in files
    )
    if not fields & _OF_FOLDER:
        return told
    above = [one.parent for one in told if one.parent is not None and one.parent is not UNKNOWN]
    visible = await access.visible_folders(above)
    return tuple(
        one
        if one.parent in visible
        else msgspec.structs.replace(one, parent=UNKNOWN, parent_folder_name=None)
        for one in told
    )
