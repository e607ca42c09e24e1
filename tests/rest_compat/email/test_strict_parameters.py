"""Unknown query parameters: refused or named in a header, as token, caller and deployment ask."""

import pytest
import world as worlds
from sqlalchemy import text

MESSAGES = "/api/access/email/messages"
LENIENT = {"prefer": "handling=lenient"}
NEW = {"strictParameters": None}  # the default, which `world.token` changes
STRICT = {"prefer": "handling=strict"}


@pytest.mark.parametrize(
    ("settings", "headers", "is_refused"),
    [
        pytest.param(NEW, {}, True, id="a new token"),
        pytest.param(NEW, LENIENT, False, id="a new token, a lenient call"),
        pytest.param(NEW, {"prefer": "handling=lenient, handling=strict"}, True, id="both: strict"),
        pytest.param({"strictParameters": False}, {}, False, id="a lenient token"),
        pytest.param({"strictParameters": False}, STRICT, True, id="a lenient token, strict call"),
    ],
)
async def test_a_mistyped_filter_is_refused_or_named(world, settings, headers, is_refused):
    client = world.client(await world.token(settings))
    world.forget_calls()

    answer = await client.get(MESSAGES, params={"unred": "true", "limit": 1}, headers=headers)

    assert answer.headers.get("preference-applied") == (
        STRICT["prefer"] if "strict" in headers.get("prefer", "") else headers.get("prefer")
    )
    assert (answer.status_code == 400) is is_refused
    if not is_refused:
        assert answer.headers["x-ignored-parameters"] == "unred"
        return
    known = (
        "'q', 'from', 'to', 'subject', 'label', 'unread', 'after', 'before', 'hasAttachment', "
        "'limit', 'includeBody', 'pageToken'"
    )
    reason = f"is not known, did you mean 'unread'? (known: {known})."
    assert answer.json() == {
        "error": "INVALID_PARAMETER",
        "message": f"'unred' {reason}",
        "requestId": answer.headers["x-request-id"],
        "details": [{"field": "unred", "message": f"It {reason}"}],
    }
    assert "x-ignored-parameters" not in answer.headers
    assert world.calls() == []


async def test_a_token_of_an_earlier_version_ignores_them(world):
    """Its stored settings do not name the setting."""
    client = world.client(await world.token({}))
    forget = "UPDATE access_tokens SET settings = json_remove(settings, '$.strictParameters')"
    async with world.gateway.services.database.writing() as session:
        await session.exec(text(forget))

    answer = await client.get(MESSAGES, params={"unred": "true", "limit": 1})
    own = await client.get("/api/access/token")

    assert (answer.status_code, answer.headers["x-ignored-parameters"]) == (200, "unred")
    assert own.json()["settings"]["strictParameters"] is False


async def test_strict_parameters_refuse_it_before_anything_is_asked(world_template, tmp_path):
    template, known = world_template
    folder = tmp_path / "strict"
    async with worlds.opened(template, known, folder, strict_parameters=True) as world:
        client = world.client(await world.token({"strictParameters": False}))
        world.forget_calls()

        for headers in ({}, LENIENT):
            refused = await client.get(MESSAGES, params={"form": "ana"}, headers=headers)
            assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_PARAMETER")
            assert refused.json()["details"][0]["field"] == "form"
            assert "x-ignored-parameters" not in refused.headers
        assert world.calls() == []
        served = await client.get(MESSAGES, params={"from": "ana@home.example"})
        assert (served.status_code, len(served.json()["emails"])) == (200, 1)
