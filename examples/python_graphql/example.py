"""
One round of list, read, send, create and upload with a Python client generated from the SDL.

usage: GATEWAY_URL=… GATEWAY_TOKEN=… python example.py NAME

NAME becomes the subject, the item's name, the folder's name and the file's name.
"""

import base64
import os
import sys
from typing import Any

import httpx
from graphql_client import (
    Client,
    CreateDriveFolderInput,
    CreateTaskItemInput,
    ParticipantInput,
    SendEmailInput,
)


def main(name: str) -> None:
    url, token = os.environ["GATEWAY_URL"], os.environ["GATEWAY_TOKEN"]
    # Providers may take longer than the 5 seconds that httpx waits by default. Any: the generated
    # type of the argument asks for a `post` with any keyword.
    http: Any = httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60)
    # A refused or failed field raises `GraphQLClientGraphQLMultiError` with the gateway's reason.
    with Client(url=f"{url}/graphql", http_client=http) as client:
        page = client.find_emails(text="invoice").emails
        assert page is not None
        print("listed", len(page.emails), "emails")

        email = client.read_email(email_id=page.emails[0].id).email
        assert email is not None
        print("read", "with a body" if email.body else "without a body")

        recipient = ParticipantInput(email="guest@example.com")
        message = SendEmailInput(to=[recipient], subject=name, body="Hello.")
        # The key makes a repetition safe: the gateway sends once.
        once = {"Idempotency-Key": f"send-{name}"}
        sent = client.send_email(input=message, headers=once).send_email
        assert sent is not None
        print("sent", sent.email_id)

        boards = client.find_boards(text="boat").task_boards
        assert boards is not None
        item = CreateTaskItemInput(name=name)
        created = client.create_task_item(board_id=boards.boards[0].id, input=item)
        assert created.create_task_item is not None
        print("created", created.create_task_item.item_id)

        folder = client.create_folder(input=CreateDriveFolderInput(name=name)).create_folder
        assert folder is not None
        assert folder.file_id is not None
        content = base64.b64encode(name.encode()).decode()
        uploaded = client.upload_file(
            folder_id=folder.file_id, file_name=f"{name}.txt", content=content
        )
        assert uploaded.upload_file is not None
        print("uploaded", uploaded.upload_file.file_id)


if __name__ == "__main__":
    main(sys.argv[1])
