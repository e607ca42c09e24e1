"""The whole demo mailbox through the wire, every record checked against the published types."""

from datetime import UTC, datetime

import pytest

from sandbox.world.mail.mailboxes import seed


@pytest.mark.slow
async def test_every_demo_message_can_be_listed_in_pages(client, world):
    seed(world.state.database, world.mails, datetime(2026, 11, 20, tzinfo=UTC))
    expected = [mail.id for mail in world.mails.all("provider-b")]
    link, found = "/me/messages?$top=100&$expand=attachments&$select=*", []
    while link:
        page = (await client.get(link)).json()
        found += [record["id"] for record in page["value"]]
        link = page.get("@odata.nextLink")

    assert found == expected


@pytest.mark.slow
async def test_counts_of_folders_add_up_to_the_mailbox(client, world):
    seed(world.state.database, world.mails, datetime(2026, 11, 20, tzinfo=UTC))
    folders = (await client.get("/me/mailFolders?$top=50")).json()["value"]
    total = (await client.get("/me/messages/$count")).text

    assert sum(folder["totalItemCount"] for folder in folders) == int(total)
