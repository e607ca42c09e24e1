"""Who may see an item: permissions, invitations, links. Source: wire report 1D.3, 1D.4."""

from base64 import urlsafe_b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad, denied, not_found
from sandbox.collab.files import items
from sandbox.collab.requests import WRITE_FILES, Call
from sandbox.collab.store import person_id
from sandbox.http import Response
from sandbox.provider_b.responses import Refusal, empty, ok

MOST_MESSAGE = 2000  # characters
_ROLES = ("read", "write")
_GROUPS = (("Owners", "owner", 3), ("Members", "write", 5), ("Visitors", "read", 4))


def install(door: Door) -> None:
    """Add the paths of permissions."""
    add = door.routes.add
    place = "/drives/{drive}/items/{item}"
    add("GET", f"{place}/permissions", permissions)
    add("GET", f"{place}/permissions/{{permission}}", permission_itself)
    add("PATCH", f"{place}/permissions/{{permission}}", change)
    add("DELETE", f"{place}/permissions/{{permission}}", remove)
    add("POST", f"{place}/invite", invite)
    add("POST", f"{place}/createLink", create_link)


def permissions(call: Call, drive: str, item: str) -> Response:
    """List who may see an item."""
    found = call.item(drive, item)
    context = call.context(f"drives('{drive}')/items('{found.id}')/permissions")
    return ok({"@odata.context": context, "value": permissions_of(call, found)})


def permission_itself(call: Call, drive: str, item: str, permission: str) -> Response:
    """Answer one permission."""
    found = call.item(drive, item)
    one = next((one for one in permissions_of(call, found) if one["id"] == permission), None)
    if one is None:
        raise not_found()
    context = call.context(f"drives('{drive}')/items('{found.id}')/permissions/$entity")
    return ok({"@odata.context": context, **one})


def change(call: Call, drive: str, item: str, permission: str) -> Response:
    """Give another role."""
    share = _own(call, call.item(drive, item, scopes=WRITE_FILES), permission)
    role = _role(call.json())
    if share.kind == "link":
        raise bad("The role of a sharing link cannot be changed.")
    changed = msgspec.structs.replace(share, role=role)
    call.store.put(changed)
    return ok({"@odata.context": call.context("permission"), **_written(call, changed)})


def remove(call: Call, drive: str, item: str, permission: str) -> Response:
    """Take a permission away."""
    call.store.drop(_own(call, call.item(drive, item, scopes=WRITE_FILES), permission))
    return empty(204)


def invite(call: Call, drive: str, item: str) -> Response:
    """Give people or groups a role; who has one already keeps one permission."""
    found = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    addresses = _recipients(body)
    role = _role(body)
    if len(str(body.get("message") or "")) > MOST_MESSAGE:
        raise bad(f"The message is longer than {MOST_MESSAGE} characters.")
    _check_policy(call, found, "organization", addresses)
    value = []
    for address in addresses:
        is_group = address.partition("@")[0].startswith(("group.", "team."))
        there = next((one for one in call.store.shares(found) if one.to == (address,)), None)
        share = r.Share(
            id=there.id if there else _id("i:0#.f|membership|" + address, found.id),
            drive_id=found.drive_id,
            item_id=found.id,
            kind="group" if is_group else "user",
            role=role,
            by=call.by(),
            to=(address,),
            needs_sign_in=body.get("requireSignIn") is not False,
        )
        call.store.put(share)
        value.append(_written(call, share))
    return ok({"@odata.context": call.context("Collection(permission)"), "value": value})


def create_link(call: Call, drive: str, item: str) -> Response:
    """Make a sharing link, or return the one of this kind that is there."""
    found = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    view = body.get("type", "view")
    scope = body.get("scope", "organization")
    if view not in ("view", "edit", "embed") or scope not in ("anonymous", "organization", "users"):
        raise bad("The type or the scope of the link is not supported.")
    _check_policy(call, found, scope, ())
    for share in call.store.shares(found):
        if share.kind == "link" and (share.scope, share.view) == (scope, view):
            return _link(call, share, 200)
    share = r.Share(
        id=str(uuid4()),
        drive_id=found.drive_id,
        item_id=found.id,
        kind="link",
        role="write" if view == "edit" else "read",
        by=call.by(),
        scope=scope,
        view=view,
    )
    call.store.put(share)
    return _link(call, share, 201)


def _link(call: Call, share: r.Share, status: int) -> Response:
    return ok({"@odata.context": call.context("permission"), **_written(call, share)}, status)


def permissions_of(call: Call, item: r.Item) -> list[dict[str, Any]]:
    """Write every permission on an item, those that it has from above included."""
    site = call.site_of(call.drive(item.drive_id))
    found = [_of_site(site)] if site.owner else [_of_group(site, *group) for group in _GROUPS]
    if site.owner:
        owner = found[0]["grantedToV2"]["user"]
        owner["displayName"] = call.store.name_of(site.owner)
    above = [*call.store.ancestors(item), item]
    found += [_written(call, share) for one in above for share in call.store.shares(one)]
    return found


def _of_site(site: r.Site) -> dict[str, Any]:
    user = {"email": site.owner, "id": person_id(site.owner), "displayName": ""}
    return {
        "id": _id("owner", site.id),
        "roles": ["owner"],
        "grantedToV2": {"user": user},
        "grantedTo": {"user": user},
    }


def _of_group(site: r.Site, name: str, role: str, number: int) -> dict[str, Any]:
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


def _written(call: Call, share: r.Share) -> dict[str, Any]:
    store = call.store
    record: dict[str, Any] = {"id": share.id, "roles": [share.role]}
    if share.kind == "link":
        return {**record, **_of_link(call, share)}
    email = share.to[0]
    name = store.name_of(email)
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
        "loginName": f"i:0#.f|membership|{email}",
    }
    return {
        **record,
        "grantedToV2": {"user": who, "siteUser": member},
        "grantedTo": {"user": who},
        "invitation": {
            "email": email,
            "invitedBy": items.identity(store, share.by),
            "signInRequired": share.needs_sign_in,
        },
    }


def _of_link(call: Call, share: r.Share) -> dict[str, Any]:
    item = call.store.item(share.drive_id, share.item_id)
    site = call.site_of(call.drive(share.drive_id))
    kind = "f" if item is not None and item.is_folder else "w"
    token = urlsafe_b64encode(sha256(share.id.encode()).digest()[:24]).decode()
    people = [
        {
            "user": {
                "email": one,
                "id": person_id(one),
                "displayName": call.store.name_of(one),
            }
        }
        for one in share.to
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


def _own(call: Call, item: r.Item, permission: str) -> r.Share:
    """Find a permission that was given on this very item."""
    for share in call.store.shares(item):
        if share.id == permission:
            if share.role == "owner":
                raise denied("The permission of the owner cannot be changed.")
            return share
    if any(one["id"] == permission for one in permissions_of(call, item)):
        raise denied("An inherited permission cannot be changed here.")
    raise not_found()


def _recipients(body: dict[str, Any]) -> list[str]:
    given = body.get("recipients")
    if not isinstance(given, list) or not given:
        raise bad("At least one recipient is needed.")
    found = [str(one.get("email") or "") if isinstance(one, dict) else "" for one in given]
    if not all("@" in one.strip("@") for one in found):
        raise bad("One or more users could not be resolved.", "noResolvedUsers")
    return [one.lower() for one in found]


def _role(body: dict[str, Any]) -> str:
    roles = body.get("roles")
    if not isinstance(roles, list) or len(roles) != 1 or roles[0] not in _ROLES:
        raise bad("The roles are one of read and write.")
    return str(roles[0])


def _check_policy(call: Call, item: r.Item, scope: str, addresses: Sequence[str]) -> None:
    """Refuse what the site's sharing policy forbids."""
    site = call.site_of(call.drive(item.drive_id))
    inside = {person.email.partition("@")[2] for person in call.store.every(r.Person)}
    is_outside = scope == "anonymous" or any(
        address.partition("@")[2] not in inside for address in addresses
    )
    if site.sharing == "" or (site.sharing == "organization" and is_outside):
        raise Refusal(
            403,
            "notAllowed",
            "Sharing is disabled for this site by the policy of the organization.",
        )


def _id(text: str, place: str) -> str:
    return urlsafe_b64encode(sha256(f"{place} {text}".encode()).digest()[:21]).decode()
