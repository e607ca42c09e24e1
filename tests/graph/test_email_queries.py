"""The email queries, whole bodies."""

from datetime import timedelta

import pytest

PAGE = "{ emails { emails { id subject } totalCount totalCountExact hasMore nextPageToken accessInfo authWarnings } }"


async def test_it_merges_every_mailbox_newest_first(ask, world):
    status, body = await ask(PAGE)

    assert status == 200
    assert body == {
        "data": {
            "emails": {
                "emails": [
                    {"id": "providerA:a1", "subject": "Subject a1"},
                    {"id": "providerB:b1", "subject": "Subject b1"},
                    {"id": "providerA:a2", "subject": "Subject a2"},
                ],
                "totalCount": 3,
                "totalCountExact": True,
                "hasMore": False,
                "nextPageToken": None,
                "accessInfo": None,
                "authWarnings": None,
            }
        },
        "extensions": {"access": {"hiddenFields": {}}},
    }
    assert world.costs == [{"email": 1}]
