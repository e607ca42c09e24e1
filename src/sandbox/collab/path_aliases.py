"""
The many ways to a library, an item or a list, led to the one that the routes know.

``/me/drive/root``, ``/sites/{s}/drive``, ``/drives/{d}/list`` and the rest become
``/drives/{d}/items/…`` or ``/sites/{s}/lists/{l}/…``. Source: wire report 1D.
"""

from sandbox.collab.errors import not_found
from sandbox.collab.requests import Call
from sandbox.collab.store import person_id


def resolved(call: Call, segments: tuple[str, ...]) -> tuple[str, ...]:
    """
    Lead every way to a library, an item or a list to the one that the routes know.

    Raises:
        Refusal: A part of the way is unknown or closed.
    """
    match segments:
        case ("users", who, *rest) if who.casefold() in (
            call.account.casefold(),
            person_id(call.account),
        ):
            return resolved(call, ("me", *rest))
        case ("me", "drive", *rest):
            return resolved(call, ("drives", call.own_drive().id, *rest))
        case ("drive", *rest):
            return resolved(call, ("drives", call.default_drive(call.site("root")).id, *rest))
        case ("sites", site, "getByPath", path, *rest):
            return resolved(call, ("sites", f"{site}:/{path.strip('/')}", *rest))
        case ("sites", site, "drive", *rest):
            return resolved(call, ("drives", call.default_drive(call.site(site)).id, *rest))
        case ("sites", site, "drives", drive, *rest):
            if call.drive(drive).site_id != call.site(site).id:
                raise not_found()
            return resolved(call, ("drives", drive, *rest))
        case ("sites", site, "lists", one, "drive", *rest):
            found = call.list_in(call.site(site), one)
            if not found.drive_id:
                raise not_found()
            return resolved(call, ("drives", found.drive_id, *rest))
        case ("drives", drive, "list", *rest):
            library = call.drive(drive)
            return resolved(call, ("sites", library.site_id, "lists", library.list_id, *rest))
        case ("drives", drive, root, *rest) if root == "root" or root.startswith("root:/"):
            return resolved(call, ("drives", drive, "items", root, *rest))
        case ("drives", drive, "items", item, "listItem", *rest):
            library, number = call.drive(drive), call.item(drive, item).number
            way = ("sites", library.site_id, "lists", library.list_id, "items", str(number), *rest)
            return resolved(call, way)
        case ("sites", site, "lists", one, "items", number, "driveItem", *rest):
            found = call.list_in(call.site(site), one)
            face = call.store.item_by_number(found.drive_id, call.number(number))
            if face is None:
                raise not_found()
            return resolved(call, ("drives", face.drive_id, "items", face.id, *rest))
    return segments
