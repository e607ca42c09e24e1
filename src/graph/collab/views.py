"""Records that the collab root fields return: `XView` in the shape of the schema's type `X`."""

from collections.abc import Mapping
from datetime import datetime

from providers import collab_ids
from providers.records.base import Record
from providers.records.collab import (
    Drive,
    File,
    Permission,
    Row,
    SearchHit,
    SensitivityLabel,
    Site,
    SiteList,
)


class PageView(Record, frozen=True, kw_only=True):
    """Attributes of every page."""

    next_page_token: str | None
    has_more: bool
    access_info: str | None


class DriveFilePageView(PageView, frozen=True, kw_only=True):
    files: tuple[File, ...]
    auth_warnings: tuple[str, ...] | None


class DriveFileAnswerView(Record, frozen=True, kw_only=True):
    file: File
    access_info: str | None


class DriveFileLinkView(Record, frozen=True, kw_only=True):
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
    permissions: tuple[Permission, ...]
    access_info: str | None


class DriveOperationResultView(Record, frozen=True, kw_only=True):
    success: bool = True
    file_id: str | None = None
    permission_id: str | None = None
    role: str | None = None
    error_message: str | None = None
    error_code: str | None = None


class CollabDrivePageView(PageView, frozen=True, kw_only=True):
    drives: tuple[Drive, ...]


class CollabSitePageView(PageView, frozen=True, kw_only=True):
    sites: tuple[Site, ...]
    auth_warnings: tuple[str, ...] | None


class CollabListPageView(PageView, frozen=True, kw_only=True):
    lists: tuple[SiteList, ...]


class CollabListItemPageView(PageView, frozen=True, kw_only=True):
    items: tuple[Row, ...]
    auth_warnings: tuple[str, ...] | None


class CollabListItemDeletionView(Record, frozen=True, kw_only=True):
    success: bool = True


class SensitivityLabelListView(Record, frozen=True, kw_only=True):
    labels: tuple[SensitivityLabel, ...]
    access_info: str | None


class ItemSensitivityLabelView(Record, frozen=True, kw_only=True):
    success: bool = True
    label_id: str | None = None
    label_display_name: str | None = None
    assignment_method: str | None = None
    assigned_date_time: datetime | None = None
    error_message: str | None = None


class CollabSearchHitView(Record, frozen=True, kw_only=True):
    entity_type: str
    id: str
    title: str | None
    summary: str | None
    web_url: str | None
    last_modified_date_time: datetime | None
    target: SearchHit

    @property
    def file_id(self) -> str | None:
        return None if self.target.file is None else self.target.file.id

    @property
    def row_id(self) -> str | None:
        return None if self.target.row is None else self.target.row.id

    @property
    def row_site_id(self) -> str | None:
        return None if self.target.row is None else self.target.row.site_id

    @property
    def row_list_id(self) -> str | None:
        return None if self.target.row is None else self.target.row.list_id

    @property
    def list_id(self) -> str | None:
        return None if self.target.list is None else self.target.list.id

    @property
    def site_id(self) -> str | None:
        """The id of the site that was hit, or of the site of a list that was hit."""
        hit = self.target.site or self.target.list
        return None if hit is None else collab_ids.join_site(hit.site)


class CollabSearchPageView(Record, frozen=True, kw_only=True):
    hits: tuple[CollabSearchHitView, ...]
    from_: int
    total: int
    more_results_available: bool
    access_info: str | None
    auth_warnings: tuple[str, ...] | None
