"""A text beyond its maximum is refused by REST and GraphQL alike; no provider hears of it."""

import pytest
from caller_texts import graphql_texts, rest_texts

TEXTS = [*graphql_texts(), *rest_texts()]
# Of the others the resolver answers as of other texts of their kind, or reads the beginning.
REFUSED = [text for text in TEXTS if text.limit is not None and text.limit.code is not None]
LEFT = [
    text for text in TEXTS if text.limit is not None and text.limit.code is None
    if text.limit.characters < 200_000
]  # fmt: skip


def rows(texts):
    return [pytest.param(text, id=text.name) for text in texts]


def answer(served, text, value):
    method, url, content = text.request(served, value)
    before = served.upstream_calls()
    response, _ = served.call(method, url, **content)
    return response, served.upstream_calls() - before


@pytest.mark.slow
@pytest.mark.parametrize("text", rows(REFUSED))
def test_a_text_beyond_its_maximum_is_400(served, text):
    limit = text.limit
    if limit.characters > 1_000_000:
        pytest.skip("the body is too large before")
    too_long = [("a" * (limit.characters + 1), f"may have at most {limit.characters} characters.")]
    if limit.part:
        why = f"may have at most {limit.part} characters between two commas."
        too_long.append((f"a@b.example,{'a' * (limit.part + 1)}", why))
    for value, why in too_long:
        response, calls = answer(served, text, value)

        body = response.json()
        is_graphql = "errors" in body
        error = body["errors"][0] if is_graphql else body
        details = error["extensions"]["details"] if is_graphql else body["details"]
        assert response.status_code == (200 if is_graphql else 400), body
        assert error["message"].endswith(f" {why}"), body
        assert [detail["message"] for detail in details] == [f"It {why}"]
        code = error["extensions"]["code"] if is_graphql else body["error"]
        assert code == ("VALIDATION_ERROR" if "Input." in text.name else limit.code)
        assert calls == 0


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=text.name) for text in TEXTS if "emails?" in text.name
             and text.limit is not None and text.limit.characters <= 500]
)  # fmt: skip
def test_a_text_that_is_longer_for_the_provider_is_400(served, text):
    longest = text.limit.characters
    response, calls = answer(served, text, "\ufdfa" * (longest // 18 + 1))
    why = f"may have at most {longest} characters in its compatible form (NFKC)."

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert response.json()["details"] == [
        {"field": text.name.rpartition("?")[2], "message": f"It {why}"}
    ]
    assert calls == 0


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=text.name) for text in TEXTS if "ifMatch" in text.name]
)
@pytest.mark.parametrize("value", ["\u00e9", "\U0001f600", "a\tb"])
def test_an_entity_tag_beyond_ascii_is_400(served, text, value):
    response, calls = answer(served, text, value)

    body = response.json()
    error = body["errors"][0] if "errors" in body else body
    assert error["message"] == "ifMatch may have visible ASCII characters alone."
    assert response.status_code == (200 if "errors" in body else 400)
    assert calls == 0


@pytest.mark.parametrize("text", rows(LEFT))
def test_an_id_or_a_name_beyond_its_maximum_is_refused(served, text):
    response, calls = answer(served, text, "a" * (text.limit.characters + 1))

    body = response.json()
    errors = body.get("errors") or [body]
    assert (response.status_code in {400, 404}) != ("errors" in body), body
    assert errors[0].get("message"), body
    assert calls == 0
