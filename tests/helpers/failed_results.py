"""Members of the result objects in an error, as the contract and the specification name them."""

from typing import Any

NULLS = {
    "EmailActionResult": ("emailId", "threadId"),
    "DraftActionResult": ("draftId", "version", "emailId"),
    "TaskItemResult": ("provider", "itemId", "item", "rejectedFields"),
    "TaskOperationResult": ("provider",),
    "TaskCommentResult": ("provider", "commentId"),
    "DriveOperationResult": ("fileId",),
    "DriveFileLinkResponse": (
        "webViewLink",
        "downloadUrl",
        "exportLinks",
        "fileName",
        "mimeType",
        "size",
        "expiresAt",
    ),
    "ItemSensitivityLabelResponse": (
        "labelId",
        "labelDisplayName",
        "assignmentMethod",
        "assignedDateTime",
    ),
}


def failed_result(result: str, message: str, code: str | None, **more: Any) -> dict[str, Any]:
    """Return the members of *result* in an error; *more* are those that say something."""
    members = dict.fromkeys(NULLS[result]) | {"success": False, "errorMessage": message}
    if result != "ItemSensitivityLabelResponse":
        members["errorCode"] = code
    if result == "DriveFileLinkResponse":
        members["isGoogleWorkspaceFile"] = False
    return members | more
