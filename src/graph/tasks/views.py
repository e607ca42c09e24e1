"""Results of the task root fields, in the shape of the output types."""

from providers.records.base import Record
from providers.records.tasks import TaskBoard, TaskItem


class TaskProviderView(Record, frozen=True, kw_only=True):
    provider_code: str
    provider_display_name: str
    connection_id: int
    status: str


class TaskBoardPageView(Record, frozen=True, kw_only=True):
    provider: str
    boards: tuple[TaskBoard, ...]
    next_page_token: str | None
    has_more: bool
    access_info: str | None
    auth_warnings: tuple[str, ...] | None


class TaskBoardAnswerView(Record, frozen=True, kw_only=True):
    provider: str
    board: TaskBoard
    access_info: str | None


class TaskItemPageView(Record, frozen=True, kw_only=True):
    provider: str
    items: tuple[TaskItem, ...]
    next_page_token: str | None
    has_more: bool
    total_count: int | None
    access_info: str | None


class TaskItemAnswerView(Record, frozen=True, kw_only=True):
    provider: str
    item: TaskItem
    access_info: str | None


class TaskItemResultView(Record, frozen=True, kw_only=True):
    provider: str | None = None
    success: bool
    item_id: str | None = None
    item: TaskItem | None = None
    error_code: str | None = None
    error_message: str | None = None
    rejected_fields: tuple[str, ...] | None = None


class TaskOperationView(Record, frozen=True, kw_only=True):
    provider: str | None = None
    success: bool = True
    error_code: str | None = None
    error_message: str | None = None


class TaskCommentView(Record, frozen=True, kw_only=True):
    provider: str | None = None
    comment_id: str | None = None
    success: bool = True
    error_code: str | None = None
    error_message: str | None = None
