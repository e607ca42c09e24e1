"""
Endpoints of permissions, invitations and links.

See docs/spec/upstream/microsoft-files.md#permissions and
docs/spec/upstream/microsoft-files.md#share.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.errors import access_denied, invalid_request, not_found
from sandbox.collab.files import items
from sandbox.collab.requests import WRITE_FILES, CollabCall
from sandbox.collab.store import person_id
from sandbox.http import Response, Router
from sandbox.provider_b.responses import GraphError, empty, ok

MAX_MESSAGE_LENGTH = 2000  # characters
_ROLES = ("read", "write")
_GROUPS = (("Owners", "owner", 3), ("Members", "write", 5), ("Visitors", "read", 4))


def install(routes: Router) -> None:
    """Register the routes of permissions."""
    add = routes.add
    place = "/drives/{drive}/items/{item}"
    add("GET", f"{place}/permissions", list_permissions)
    add("GET", f"{place}/permissions/{{permission}}", get_permission)
    add("PATCH", f"{place}/permissions/{{permission}}", change_role)
    add("DELETE", f"{place}/permissions/{{permission}}", remove_permission)
    add("POST", f"{place}/invite", invite)
    add("POST", f"{place}/createLink", create_link)


def list_permissions(call: CollabCall, drive: str, item: str) -> Response:
    """List the permissions on an item, inherited ones included."""
    requested_item = call.item(drive, item)
    context = call.context(f"drives('{drive}')/items('{requested_item.id}')/permissions")
    return ok({"@odata.context": context, "value": write_permissions(call, requested_item)})


def get_permission(call: CollabCall, drive: str, item: str, permission: str) -> Response:
    """Return one permission."""
    requested_item = call.item(drive, item)
    record = next(
        (
            record
            for record in write_permissions(call, requested_item)
            if record["id"] == permission
        ),
        None,
    )
    if record is None:
        raise not_found()
    context = call.context(f"drives('{drive}')/items('{requested_item.id}')/permissions/$entity")
    return ok({"@odata.context": context, **record})


def change_role(call: CollabCall, drive: str, item: str, permission: str) -> Response:
    """Change the role of a permission."""
    share = _find_own(call, call.item(drive, item, scopes=WRITE_FILES), permission)
    role = _role(call.json())
    if share.kind == "link":
        raise invalid_request("The role of a sharing link cannot be changed.")
    changed = msgspec.structs.replace(share, role=role)
    call.store.put(changed)
    return ok({"@odata.context": call.context("permission"), **_write_share(call, changed)})


def remove_permission(call: CollabCall, drive: str, item: str, permission: str) -> Response:
    """Remove a permission."""
    call.store.delete(_find_own(call, call.item(drive, item, scopes=WRITE_FILES), permission))
    return empty(204)


def invite(call: CollabCall, drive: str, item: str) -> Response:
    """Grant people or groups a role; an existing permission is updated."""
    requested_item = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    addresses = _recipients(body)
    role = _role(body)
    if len(str(body.get("message") or "")) > MAX_MESSAGE_LENGTH:
        raise invalid_request(f"The message is longer than {MAX_MESSAGE_LENGTH} characters.")
    _check_policy(call, requested_item, "organization", addresses)
    value = []
    for address in addresses:
        is_group = address.partition("@")[0].startswith(("group.", "team."))
        existing = next(
            (share for share in call.store.shares(requested_item) if share.to == (address,)), None
        )
        share = r.Share(
            id=existing.id if existing else _id("i:0#.f|membership|" + address, requested_item.id),
            drive_id=requested_item.drive_id,
            item_id=requested_item.id,
            kind="group" if is_group else "user",
            role=role,
            by=call.actor(),
            to=(address,),
            needs_sign_in=body.get("requireSignIn") is not False,
        )
        call.store.put(share)
        value.append(_write_share(call, share))
    return ok({"@odata.context": call.context("Collection(permission)"), "value": value})


def create_link(call: CollabCall, drive: str, item: str) -> Response:
    """Create a sharing link, or return the existing one of the same type and scope."""
    requested_item = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    view = body.get("type", "view")
    scope = body.get("scope", "organization")
    if view not in ("view", "edit", "embed") or scope not in ("anonymous", "organization", "users"):
        raise invalid_request("The type or the scope of the link is not supported.")
    _check_policy(call, requested_item, scope, ())
    for share in call.store.shares(requested_item):
        if share.kind == "link" and (share.scope, share.view) == (scope, view):
            return _link(call, share, 200)
    share = r.Share(
        id=str(uuid4()),
        drive_id=requested_item.drive_id,
        item_id=requested_item.id,
        kind="link",
        role="write" if view == "edit" else "read",
        by=call.actor(),
        scope=scope,
        view=view,
    )
    call.store.put(share)
    return _link(call, share, 201)


def _link(call: CollabCall, share: r.Share, status: int) -> Response:
    return ok({"@odata.context": call.context("permission"), **_write_share(call, share)}, status)


def write_permissions(call: CollabCall, item: r.Item) -> list[dict[str, Any]]:
    """Return all permissions on an item, inherited ones included."""
    site = call.site_of(call.drive(item.drive_id))
    records = (
        [_write_owner(site)]
        if site.owner
        else [_write_site_group(site, *group) for group in _GROUPS]
    )
    if site.owner:
        owner = records[0]["grantedToV2"]["user"]
        owner["displayName"] = call.store.display_name(site.owner)
    path_items = [*call.store.ancestors(item), item]
    records += [
        _write_share(call, share)
        for path_item in path_items
        for share in call.store.shares(path_item)
    ]
    return records


def _write_owner(site: r.Site) -> dict[str, Any]:
    user = {"email": site.owner, "id": person_id(site.owner), "displayName": ""}
    return {
        "id": _id("owner", site.id),
        "roles": ["owner"],
        "grantedToV2": {"user": user},
        "grantedTo": {"user": user},
    }


def _write_site_group(site: r.Site, name: str, role: str, number: int) -> dict[str, Any]:
    group = {
        "displayName": f"{site.title} {name}",
        "id": str(number),
        "loginName": f"{site.title} {name}",
    }
    return {
        "id": _id(name, site.id),
        "roles": [role],
        "grantedToV2": {"siteGroup": group},
        "grantedTo": {"user": {"displayName": group["displayName"]}},
    }


def _write_share(call: CollabCall, share: r.Share) -> dict[str, Any]:
    store = call.store
    record: dict[str, Any] = {"id": share.id, "roles": [share.role]}
    if share.kind == "link":
        return {**record, **_write_link(call, share)}
    email = share.to[0]
    name = store.display_name(email)
    who = {"email": email, "id": person_id(email), "displayName": name}
    if share.kind == "group":
        return {
            **record,
            "grantedToV2": {"group": who},
            "grantedTo": {"user": {"displayName": name}},
        }
    member = {
        "displayName": name,
        "email": email,
        "id": str(int(sha256(email.encode()).hexdigest()[:6], 16)),
        "loginName": f"i:0#.f|membership|{store.sign_in_name(email)}",
    }
    return {
        **record,
        "grantedToV2": {"user": who, "siteUser": member},
        "grantedTo": {"user": who},
        "invitation": {
            "email": email,
            "invitedBy": items.write_identity(store, share.by),
            "signInRequired": share.needs_sign_in,
        },
    }


def _write_link(call: CollabCall, share: r.Share) -> dict[str, Any]:
    item = call.store.item(share.drive_id, share.item_id)
    site = call.site_of(call.drive(share.drive_id))
    kind = "f" if item is not None and item.is_folder else "w"
    token = urlsafe_b64encode(sha256(share.id.encode()).digest()[:24]).decode()
    people = [
        {
            "user": {
                "email": email,
                "id": person_id(email),
                "displayName": call.store.display_name(email),
            }
        }
        for email in share.to
    ]
    return {
        "shareId": f"u!{token}",
        "hasPassword": False,
        "grantedToIdentitiesV2": people,
        "grantedToIdentities": people,
        "link": {
            "scope": share.scope,
            "type": share.view,
            "webUrl": f"https://{site.host}/:{kind}:/s{site.path}/{token}",
            "preventsDownload": False,
        },
    }


def _find_own(call: CollabCall, item: r.Item, permission: str) -> r.Share:
    """Return a permission on the item itself; refuse inherited ones."""
    for share in call.store.shares(item):
        if share.id == permission:
            if share.role == "owner":
                raise access_denied("The permission of the owner cannot be changed.")
            return share
    if any(record["id"] == permission for record in write_permissions(call, item)):
        raise access_denied("An inherited permission cannot be changed here.")
    raise not_found()


def _recipients(body: dict[str, Any]) -> list[str]:
    recipients = body.get("recipients")
    if not isinstance(recipients, list) or not recipients:
        raise invalid_request("At least one recipient is needed.")
    addresses = [
        str(recipient.get("email") or "") if isinstance(recipient, dict) else ""
        for recipient in recipients
    ]
    if not all("@" in recipient.strip("@") for recipient in addresses):
        raise invalid_request("One or more users could not be resolved.", "noResolvedUsers")
    return [recipient.lower() for recipient in addresses]


def _role(body: dict[str, Any]) -> str:
    roles = body.get("roles")
    if not isinstance(roles, list) or len(roles) != 1 or roles[0] not in _ROLES:
        raise invalid_request("The roles are one of read and write.")
    return str(roles[0])


def _check_policy(call: CollabCall, item: r.Item, scope: str, addresses: Sequence[str]) -> None:
    """Check the sharing policy of the item's site."""
    site = call.site_of(call.drive(item.drive_id))
    inside = {person.email.partition("@")[2] for person in call.store.every(r.Person)}
    is_outside = scope == "anonymous" or any(
        address.partition("@")[2] not in inside for address in addresses
    )
    if site.sharing == "" or (site.sharing == "organization" and is_outside):
        raise GraphError(
            403,
            "notAllowed",
            "Sharing is disabled for this site by the policy of the organization.",
        )


def _id(text: str, salt: str) -> str:
    return urlsafe_b64encode(sha256(f"{salt} {text}".encode()).digest()[:21]).decode()
