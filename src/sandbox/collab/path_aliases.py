"""
Aliased resource paths.

``/me/drive/root``, ``/sites/{s}/drive``, ``/drives/{d}/list`` and others are rewritten to
``/drives/{d}/items/…`` or ``/sites/{s}/lists/{l}/…``.
See docs/spec/upstream/microsoft-files.md#ids.
"""

from sandbox.collab.errors import not_found
from sandbox.collab.requests import CollabCall
from sandbox.collab.store import person_id


def resolve_aliases(call: CollabCall, segments: tuple[str, ...]) -> tuple[str, ...]:
    """
    Rewrite an aliased path of a library, an item or a list to the canonical one.

    Raises:
        GraphError: A resource on the path is unknown or closed to the caller.
    """
    while (target := _resolve_alias(call, segments)) is not None:
        segments = target
    return segments


def _resolve_alias(call: CollabCall, segments: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the path that an alias stands for, None for a canonical path."""
    match segments:
        case ("users", user, *rest) if user.casefold() in (
            call.account.casefold(),
            call.store.sign_in_name(call.account).casefold(),
            person_id(call.account),
        ):
            return ("me", *rest)
        case ("me", "drive", *rest):
            return ("drives", call.own_drive().id, *rest)
        case ("drive", *rest):
            return ("drives", call.default_drive(call.site("root")).id, *rest)
        case ("sites", site, "getByPath", path, *rest):
            return ("sites", f"{site}:/{path.strip('/')}", *rest)
        case ("sites", site, "drive", *rest):
            return ("drives", call.default_drive(call.site(site)).id, *rest)
        case ("sites", site, "drives", drive, *rest):
            if call.drive(drive).site_id != call.site(site).id:
                raise not_found()
            return ("drives", drive, *rest)
        case ("sites", site, "lists", list_id, "drive", *rest):
            site_list = call.find_list(call.site(site), list_id)
            if not site_list.drive_id:
                raise not_found()
            return ("drives", site_list.drive_id, *rest)
        case ("drives", drive, "list", *rest):
            library = call.drive(drive)
            return ("sites", library.site_id, "lists", library.list_id, *rest)
        case ("drives", drive, root, *rest) if root == "root" or root.startswith("root:/"):
            return ("drives", drive, "items", root, *rest)
        case ("drives", drive, "items", item, "listItem", *rest):
            library, number = call.drive(drive), call.item(drive, item).number
            list_path = ("sites", library.site_id, "lists", library.list_id)
            return (*list_path, "items", str(number), *rest)
        case ("sites", site, "lists", list_id, "items", number, "driveItem", *rest):
            site_list = call.find_list(call.site(site), list_id)
            list_item = call.store.item_by_number(
                site_list.drive_id, call.parse_item_number(number)
            )
            if list_item is None:
                raise not_found()
            return ("drives", list_item.drive_id, "items", list_item.id, *rest)
    return None
