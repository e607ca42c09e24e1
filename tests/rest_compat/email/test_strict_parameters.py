"""Unknown query parameters: named in a header, or refused by the whole deployment."""

import world as worlds

MESSAGES = "/api/access/email/messages"


async def test_a_mistyped_filter_is_named(client):
    answer = await client.get(MESSAGES, params={"form": "ana", "limit": 1})

    assert answer.status_code == 200
    assert answer.headers["x-ignored-parameters"] == "form"


async def test_strict_parameters_refuse_it_before_anything_is_asked(world_template, tmp_path):
    template, known = world_template
    folder = tmp_path / "strict"
    async with worlds.opened(template, known, folder, strict_parameters=True) as world:
        client = world.client(await world.token({}))
        world.forget_calls()

        refused = await client.get(MESSAGES, params={"form": "ana"})
        served = await client.get(MESSAGES, params={"from": "ana@home.example"})

        assert (refused.status_code, refused.json()["error"]) == (400, "INVALID_PARAMETER")
        assert refused.json()["details"][0]["field"] == "form"
        assert "x-ignored-parameters" not in refused.headers
        assert "preference-applied" not in refused.headers
        assert (served.status_code, len(served.json()["emails"])) == (200, 1)
