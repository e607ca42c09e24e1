"""`accessToken`: a token reads its own settings."""


async def test_a_token_reads_its_own_settings(ask, world):
    world.settings = {
        "emailAccessEnabled": True,
        "allowedEmailOperations": ["all"],
        "allowedTaskOperations": ["view_items"],
    }

    status, body = await ask("""{ accessToken {
        id name expiresAt settings
        effectiveEmailOperations effectiveTaskOperations effectiveCollabOperations
        connections { id kind provider accountEmail status reconnectUrl }
    } }""")

    assert status == 200
    token = body["data"]["accessToken"]
    settings = token.pop("settings")
    assert settings["allowedEmailOperations"] == ["all"]
    assert settings["collabAccessEnabled"] is False
    assert len(token.pop("effectiveEmailOperations")) == 13
    assert token.pop("effectiveCollabOperations") == []
    assert token == {
        "id": 7,
        "name": "robot",
        "expiresAt": None,
        "effectiveTaskOperations": ["view_items"],
        "connections": [
            {
                "id": 1,
                "kind": "email",
                "provider": "PROVIDER_A",
                "accountEmail": "me@a.example",
                "status": "active",
                "reconnectUrl": None,
            },
            {
                "id": 2,
                "kind": "email",
                "provider": "PROVIDER_B",
                "accountEmail": "me@b.example",
                "status": "active",
                "reconnectUrl": None,
            },
        ],
    }
    assert "extensions" not in body
