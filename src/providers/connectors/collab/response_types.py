"""Typed JSON responses; docs/spec/upstream/microsoft-files.md."""

from typing import Any

import msgspec

from providers.connectors.collab.failures import ErrorBody
from providers.odata import CamelStruct

Facet = dict[str, Any]


class Identity(CamelStruct):
    id: str | None = None
    email: str | None = None
    display_name: str | None = None
    user_principal_name: str | None = None


class IdentitySet(CamelStruct):
    user: Identity | None = None
    group: Identity | None = None
    application: Identity | None = None
    site_user: Identity | None = None
    site_group: Identity | None = None


class SharepointIds(CamelStruct):
    list_id: str | None = None
    list_item_id: str | None = None
    site_id: str | None = None
    site_url: str | None = None
    web_id: str | None = None


class Reference(CamelStruct):
    id: str | None = None
    drive_id: str | None = None
    name: str | None = None
    path: str | None = None
    site_id: str | None = None
    sharepoint_ids: SharepointIds | None = None


class FileFacet(CamelStruct):
    mime_type: str | None = None


class ContentType(CamelStruct):
    id: str | None = None
    name: str | None = None


class Site(CamelStruct):
    id: str
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    web_url: str | None = None
    created_date_time: str | None = None
    last_modified_date_time: str | None = None
    is_personal_site: bool | None = None


class Drive(CamelStruct):
    id: str
    name: str | None = None
    description: str | None = None
    web_url: str | None = None
    drive_type: str | None = None
    share_point_ids: SharepointIds | None = None
    root: "Item | None" = None


class ListItem(CamelStruct):
    """A list item; *fields* by upstream's keys."""

    id: str = ""
    etag: str | None = msgspec.field(default=None, name="@odata.etag")
    name: str | None = None
    web_url: str | None = None
    created_date_time: str | None = None
    last_modified_date_time: str | None = None
    created_by: IdentitySet | None = None
    last_modified_by: IdentitySet | None = None
    content_type: ContentType | None = None
    fields: Facet | None = None
    drive_item: "Item | None" = None
    parent_reference: Reference | None = None
    sharepoint_ids: SharepointIds | None = None


class Item(CamelStruct):
    """A file or folder. Of most facets only the presence matters."""

    id: str = ""
    etag: str | None = msgspec.field(default=None, name="eTag")
    name: str | None = None
    size: int | None = None
    created_date_time: str | None = None
    last_modified_date_time: str | None = None
    created_by: IdentitySet | None = None
    last_modified_by: IdentitySet | None = None
    web_url: str | None = None
    parent_reference: Reference | None = None
    description: str | None = None
    file: FileFacet | None = None
    folder: Facet | None = None
    package: Facet | None = None
    root: Facet | None = None
    deleted: Facet | None = None
    sharepoint_ids: SharepointIds | None = None
    download_url: str | None = msgspec.field(default=None, name="@microsoft.graph.downloadUrl")
    remote_item: "Item | None" = None
    list_item: ListItem | None = None


class Link(CamelStruct):
    scope: str | None = None
    type: str | None = None


class Invitation(CamelStruct):
    email: str | None = None


class Permission(CamelStruct):
    id: str = ""
    roles: tuple[str, ...] = ()
    link: Link | None = None
    granted_to_v2: IdentitySet | None = msgspec.field(default=None, name="grantedToV2")
    granted_to: IdentitySet | None = None
    identities_v2: tuple[IdentitySet, ...] | None = msgspec.field(
        default=None, name="grantedToIdentitiesV2"
    )
    identities: tuple[IdentitySet, ...] | None = msgspec.field(
        default=None, name="grantedToIdentities"
    )
    invitation: Invitation | None = None
    error: ErrorBody | None = None


class ListInfo(CamelStruct):
    template: str | None = None
    hidden: bool | None = None


class SiteList(CamelStruct):
    id: str
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    web_url: str | None = None
    created_date_time: str | None = None
    last_modified_date_time: str | None = None
    parent_reference: Reference | None = None
    list: ListInfo | None = None
    system: Facet | None = None
    columns: tuple[Facet, ...] | None = None
    drive: Drive | None = None


class Label(CamelStruct):
    """A sensitivity label, in both shapes of the catalogue."""

    id: str
    name: str | None = None
    display_name: str | None = None
    description: str | None = None
    color: str | None = None
    sensitivity: int | None = None
    priority: int | None = None
    tooltip: str | None = None
    tool_tip: str | None = None
    is_active: bool | None = None
    is_enabled: bool | None = None
    is_appliable: bool | None = None
    sublabels: tuple["Label", ...] | None = None


class ItemLabel(CamelStruct):
    sensitivity_label_id: str = ""
    assignment_method: str | None = None
    tenant_id: str | None = None


class ItemLabels(CamelStruct):
    """Labels of one file: at the top, or inside `value`."""

    labels: tuple[ItemLabel, ...] | None = None
    value: "ItemLabels | None" = None


class UploadSession(CamelStruct):
    upload_url: str | None = None
    next_expected_ranges: tuple[str, ...] | None = None


class Hit(CamelStruct):
    summary: str | None = None
    resource: msgspec.Raw = msgspec.Raw(b"null")


class HitContainer(CamelStruct):
    total: int = 0
    more_results_available: bool = False
    hits: tuple[Hit, ...] | None = None


class SearchAnswer(CamelStruct):
    hits_containers: tuple[HitContainer, ...] = ()


class SearchAnswers(CamelStruct):
    value: tuple[SearchAnswer, ...] = ()


class Kind(CamelStruct):
    """The type annotation of a hit."""

    odata_type: str = msgspec.field(default="", name="@odata.type")
