"""Files, sites and libraries from the wire to records. Source: wire report 1D."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import unquote, urlsplit

from providers.connectors.collab import response_types
from providers.content import ids as collab_ids
from providers.content.field_selection import ALL_FIELDS, FieldSelection
from providers.content.ids import ItemKey, ListKey
from providers.records import collab as records
from providers.records.collab import UNKNOWN, Fact
from providers.timestamps import parse_utc

AT_TOP = ""  # a parent's name: the library's own, which an item does not tell
_ROLES = {"owner": "owner", "write": "writer"}  # everything else reads; wire report 1D.3


def site(one: response_types.Site) -> records.Site | None:
    """Make a record of a site; None when upstream gives it no proper id."""
    if not collab_ids.is_site(one.id):
        return None
    personal = one.is_personal_site
    if personal is None:
        personal = "-my." in one.id.partition(",")[0]
    return records.Site(
        site=one.id.lower(),
        display_name=one.display_name,
        name=one.name,
        description=one.description or None,
        web_url=one.web_url,
        created_date_time=parse_utc(one.created_date_time),
        last_modified_date_time=parse_utc(one.last_modified_date_time),
        is_personal_site=personal,
    )


def drive(one: response_types.Drive, of: str | None = None) -> records.Drive | None:
    """
    Make a record of a library; None when upstream gives it no proper id.

    Args:
        one: As upstream has it.
        of: The site that it was listed in.
    """
    if not collab_ids.is_part(one.id):
        return None
    ids = one.share_point_ids
    list_id = ids.list_id if ids is not None else None
    return records.Drive(
        drive=one.id,
        name=one.name,
        description=one.description or None,
        web_url=one.web_url,
        site=of or site_of(None, ids) or UNKNOWN,
        list_id=list_id.lower() if list_id and collab_ids.is_guid(list_id) else UNKNOWN,
        root=one.root.id if one.root is not None and collab_ids.is_part(one.root.id) else None,
        personal=one.drive_type in ("business", "personal"),
    )


def site_of(
    reference: response_types.Reference | None, ids: response_types.SharepointIds | None
) -> str | None:
    """Put a site's composite id together from what an item tells; None when that is too little."""
    told = reference.site_id if reference is not None else None
    if told and collab_ids.is_site(told):
        return told.lower()
    if ids is None or not (ids.site_id and ids.web_id and ids.site_url):
        return None
    try:
        host = urlsplit(ids.site_url).hostname
    except ValueError:
        return None
    composite = f"{host},{ids.site_id},{ids.web_id}".lower()
    return composite if collab_ids.is_site(composite) else None


def file(one: response_types.Item, wanted: AbstractSet[str], *, within: str) -> records.File | None:
    """
    Make a record of a file or folder.

    Args:
        one: As upstream has it.
        wanted: Attributes of `records.File`; the others stay empty, facts unknown.
        within: The library that was asked.

    Returns:
        None when upstream's ids are not proper, or are of another library.
    """
    reference = one.parent_reference
    told = reference.drive_id if reference is not None else None
    if not collab_ids.is_part(one.id) or (told is not None and told != within):
        return None
    folder = one.folder is not None or one.package is not None or one.root is not None
    ids = one.sharepoint_ids
    return records.File(
        drive=within,
        item=one.id,
        is_folder=folder,
        is_root=one.root is not None,
        parent=_parent(one, within),
        ancestor_names=_ancestor_names(one),
        mime_type=None if folder or one.file is None else one.file.mime_type or None,
        name=one.name if "name" in wanted else None,
        size=one.size if "size" in wanted else None,
        created_time=parse_utc(one.created_date_time) if "created_time" in wanted else None,
        modified_time=parse_utc(one.last_modified_date_time) if "modified_time" in wanted else None,
        owners=_owners(one) if "owners" in wanted else None,
        description=(one.description or None) if "description" in wanted else None,
        web_view_link=one.web_url if "web_view_link" in wanted else None,
        download_link=one.download_url if "download_link" in wanted and not folder else None,
        parent_folder_name=_parent_name(one) if "parent_folder_name" in wanted else None,
        etag=one.etag if "etag" in wanted else None,
        site=site_of(reference, ids) or UNKNOWN,
        list_id=_lower(ids.list_id) if ids is not None else UNKNOWN,
        list_item_id=(ids.list_item_id or UNKNOWN) if ids is not None else UNKNOWN,
        content_type_id=_content_type_id(one.list_item),
    )


def _parent(one: response_types.Item, within: str) -> ItemKey | records.Unknown | None:
    if one.root is not None:
        return None
    reference = one.parent_reference
    if reference is None or not reference.id or not collab_ids.is_part(reference.id):
        return UNKNOWN
    return ItemKey(within, reference.id)


def _ancestor_names(one: response_types.Item) -> tuple[str, ...] | None:
    """Name the folders on the way down from the top of the library."""
    path = one.parent_reference.path if one.parent_reference is not None else None
    _, top, names = (path or "").partition("root:")
    if one.root is not None or not top:
        return None
    return tuple(unquote(name) for name in names.split("/") if name)


def _parent_name(one: response_types.Item) -> str | None:
    """Name the folder above: `AT_TOP`, or None when there is none or upstream does not tell."""
    reference = one.parent_reference
    if reference is None or one.root is not None:
        return None
    path = reference.path or ""
    if path.endswith("root:"):
        return AT_TOP
    return reference.name or unquote(path.rpartition("/")[2]) or None


def _owners(one: response_types.Item) -> tuple[records.DriveUser, ...]:
    made = one.created_by.user if one.created_by is not None else None
    if made is None:
        return ()
    email = made.email or made.user_principal_name or ""
    return (records.DriveUser(email=email, display_name=made.display_name, role="owner"),)


def _content_type_id(one: response_types.ListItem | None) -> Fact:
    if one is None or one.content_type is None:
        return UNKNOWN
    return one.content_type.id or UNKNOWN


def _lower(guid: str | None) -> Fact:
    return guid.lower() if guid and collab_ids.is_guid(guid) else UNKNOWN


# -- permissions


def permissions(one: response_types.Permission) -> list[records.Permission]:
    """Make records of a permission: one, or for a link to certain people one per person."""
    role = next((_ROLES[word] for word in ("owner", "write") if word in one.roles), "reader")
    if one.link is not None:
        kinds = {"anonymous": "anyone", "organization": "domain"}
        if one.link.scope in kinds:
            return [records.Permission(id=one.id, type=kinds[one.link.scope], role=role)]
        people = one.identities_v2 or one.identities or ()
        return [_granted(one.id, role, who, None) for who in people]
    who = one.granted_to_v2 or one.granted_to
    if who is None and one.invitation is None:
        return []
    email = one.invitation.email if one.invitation is not None else None
    return [_granted(one.id, role, who or response_types.IdentitySet(), email)]


def _granted(
    permission: str, role: str, who: response_types.IdentitySet, invited: str | None
) -> records.Permission:
    group = who.group or who.site_group
    person = who.user or who.site_user or who.application
    someone = group if group is not None and person is None else person or response_types.Identity()
    other = who.site_user or response_types.Identity()
    email = someone.email or other.email or invited or someone.user_principal_name
    return records.Permission(
        id=permission,
        type="group" if group is not None and person is None else "user",
        role=role,
        email_address=email or None,
        display_name=someone.display_name or other.display_name,
    )


# -- list items

_NOT_VALUES = frozenset({"id"})


def row(
    one: response_types.ListItem,
    key: ListKey,
    wanted: AbstractSet[str],
    *,
    part: FieldSelection = ALL_FIELDS,
) -> records.Row:
    """
    Make a record of a list item.

    Args:
        one: As upstream has it; its id is one.
        key: The list it was asked of.
        wanted: Attributes of `records.Row`; the others stay empty, facts unknown.
        part: What `fields` shall have.
    """
    told = one.fields or {}
    shown = {
        name: value
        for name, value in told.items()
        if "@" not in name
        and name not in _NOT_VALUES
        and (part.requested is None or name in part.requested)
    }
    shown |= dict.fromkeys(part.nulled)
    kind = one.content_type
    return records.Row(
        site=key.site,
        list=key.list,
        number=one.id,
        name=_title(told, one) if "name" in wanted else None,
        web_url=one.web_url if "web_url" in wanted else None,
        content_type=kind.name if kind is not None and "content_type" in wanted else None,
        created_date_time=(
            parse_utc(one.created_date_time) if "created_date_time" in wanted else None
        ),
        last_modified_date_time=(
            parse_utc(one.last_modified_date_time) if "last_modified_date_time" in wanted else None
        ),
        fields=shown if "fields" in wanted else None,
        created_by=_who(one.created_by) if "created_by" in wanted else None,
        last_modified_by=_who(one.last_modified_by) if "last_modified_by" in wanted else None,
        etag=one.etag,
        content_type_id=(kind.id or UNKNOWN) if kind is not None else UNKNOWN,
        file=_face(one, wanted),
    )


def _title(told: Mapping[str, Any], one: response_types.ListItem) -> str | None:
    named = (told.get("Title"), told.get("FileLeafRef"), one.name)
    return next((text for text in named if isinstance(text, str) and text), None)


def _who(one: response_types.IdentitySet | None) -> str | None:
    someone = (one.user or one.group or one.application) if one is not None else None
    return None if someone is None else someone.display_name or someone.email


def _face(
    one: response_types.ListItem, wanted: AbstractSet[str]
) -> records.File | records.Unknown | None:
    """Return the file that a list item is; None for what surely is none."""
    if "file" not in wanted:
        return UNKNOWN
    item = one.drive_item
    if item is None:
        return None
    reference = item.parent_reference
    if reference is None or not reference.drive_id or not collab_ids.is_part(reference.drive_id):
        return UNKNOWN
    return file(item, frozenset(), within=reference.drive_id) or UNKNOWN
