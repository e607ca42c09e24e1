"""
One round of list, read, send, create and upload with a Python client generated from OpenAPI.

usage: GATEWAY_URL=… GATEWAY_TOKEN=… python example.py NAME

NAME becomes the subject, the item's name, the folder's name and the file's name.
"""

import io
import os
import sys
from typing import TypeVar

import httpx
from rest_client import AuthenticatedClient
from rest_client.api.collaboration_content import create_folder, upload_file
from rest_client.api.email import get_email, list_emails, send_email
from rest_client.api.tasks import create_task_item, list_task_boards
from rest_client.models import (
    ApiError,
    CreateDriveFolderRequest,
    CreateTaskItemRequest,
    DriveOperationResult,
    EmailActionResult,
    EmailDetails,
    EmailPage,
    ParticipantInput,
    SendEmailRequest,
    TaskBoardPage,
    TaskItemResult,
)
from rest_client.types import File


def main(name: str) -> None:
    url, token = os.environ["GATEWAY_URL"], os.environ["GATEWAY_TOKEN"]
    # Providers may take longer than the 5 seconds that httpx waits by default.
    patience = httpx.Timeout(60)
    with AuthenticatedClient(base_url=url, token=token, timeout=patience) as client:
        page = checked(list_emails.sync(client=client, q="invoice", limit=2), EmailPage)
        print("listed", len(page.emails), "emails")

        email = checked(get_email.sync(page.emails[0].id, client=client), EmailDetails)
        print("read", "with a body" if email.body else "without a body")

        message = SendEmailRequest(
            to=[ParticipantInput(email="guest@example.com")], subject=name, body="Hello."
        )
        # The key makes a repetition safe: the gateway sends once.
        sent = send_email.sync(client=client, body=message, idempotency_key=f"send-{name}")
        print("sent", checked(sent, EmailActionResult).email_id)

        board = checked(list_task_boards.sync(client=client, q="boat"), TaskBoardPage).boards[0]
        item = create_task_item.sync(board.id, client=client, body=CreateTaskItemRequest(name=name))
        print("created", checked(item, TaskItemResult).item_id)

        new_folder = CreateDriveFolderRequest(name=name)
        made = create_folder.sync(client=client, body=new_folder)
        folder_id = checked(made, DriveOperationResult).file_id
        assert folder_id is not None
        uploaded = upload_file.sync(
            client=client,
            folder_id=folder_id,
            file_name=f"{name}.txt",
            body=File(payload=io.BytesIO(name.encode())),
        )
        print("uploaded", checked(uploaded, DriveOperationResult).file_id)


T = TypeVar("T")


def checked(answer: object, kind: type[T]) -> T:
    """Return *answer* if it is a success; otherwise end with the gateway's reason."""
    if isinstance(answer, kind):
        return answer
    raise SystemExit(answer.message if isinstance(answer, ApiError) else f"unexpected: {answer!r}")


if __name__ == "__main__":
    main(sys.argv[1])
