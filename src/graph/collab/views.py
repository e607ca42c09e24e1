"""Records that the collab root fields return, in the shape of the schema's types."""

from collections.abc import Mapping
from datetime import datetime

from providers.records.base import Record
from providers.records.collab import Drive, File, Permission, Row, SensitivityLabel, Site, SiteList


class PageView(Record, frozen=True, kw_only=True):
    """Attributes of every page."""

    next_page_token: str | None
    has_more: bool
    access_info: str | None


class DriveFilePageView(PageView, frozen=True, kw_only=True):
    """See the type DriveFilePage."""

    files: tuple[File, ...]
    auth_warnings: tuple[str, ...] | None


class DriveFileAnswerView(Record, frozen=True, kw_only=True):
    """See the type DriveFileAnswer."""

    file: File
    access_info: str | None


class DriveFileLinkView(Record, frozen=True, kw_only=True):
    """See the type DriveFileLink."""

    success: bool = True
    web_view_link: str | None = None
    download_url: str | None = None
    export_links: Mapping[str, str] | None = None
    file_name: str | None = None
    mime_type: str | None = None
    size: int | None = None
    is_google_workspace_file: bool = False
    expires_at: datetime | None = None
    error_message: str | None = None
    error_code: str | None = None


class DrivePermissionListView(Record, frozen=True, kw_only=True):
    """See the type DrivePermissionList."""

    permissions: tuple[Permission, ...]
    access_info: str | None


class DriveOperationView(Record, frozen=True, kw_only=True):
    """See the type DriveOperationResult."""

    success: bool = True
    file_id: str | None = None
    permission_id: str | None = None
    error_message: str | None = None
    error_code: str | None = None


class DrivePageView(PageView, frozen=True, kw_only=True):
    """See the type CollabDrivePage."""

    drives: tuple[Drive, ...]


class SitePageView(PageView, frozen=True, kw_only=True):
    """See the type CollabSitePage."""

    sites: tuple[Site, ...]
    auth_warnings: tuple[str, ...] | None


class ListPageView(PageView, frozen=True, kw_only=True):
    """See the type CollabListPage."""

    lists: tuple[SiteList, ...]


class RowPageView(PageView, frozen=True, kw_only=True):
    """See the type CollabListItemPage."""

    items: tuple[Row, ...]
    auth_warnings: tuple[str, ...] | None


class DeletionView(Record, frozen=True, kw_only=True):
    """See the type CollabListItemDeletion."""

    success: bool = True


class LabelListView(Record, frozen=True, kw_only=True):
    """See the type SensitivityLabelList."""

    labels: tuple[SensitivityLabel, ...]
    access_info: str | None


class ItemLabelView(Record, frozen=True, kw_only=True):
    """See the type ItemSensitivityLabel."""

    success: bool = True
    label_id: str | None = None
    label_display_name: str | None = None
    assignment_method: str | None = None
    assigned_date_time: datetime | None = None
    error_message: str | None = None


class SearchHitView(Record, frozen=True, kw_only=True):
    """See the type CollabSearchHit."""

    entity_type: str
    id: str
    title: str | None
    summary: str | None
    web_url: str | None
    last_modified_date_time: datetime | None


class SearchPageView(Record, frozen=True, kw_only=True):
    """See the type CollabSearchPage."""

    hits: tuple[SearchHitView, ...]
    from_: int
    total: int
    more_results_available: bool
    access_info: str | None
    auth_warnings: tuple[str, ...] | None
