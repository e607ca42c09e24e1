"""Provider B's batches: mixed statuses, dependencies, limits, faults of single parts."""

import pytest


def part(name, url, method="GET", **more):
    return {"id": name, "method": method, "url": url, **more}


async def run(client, *parts):
    response = await client.post("/$batch", json={"requests": list(parts)})
    assert response.status_code == 200, response.text
    return {entry["id"]: entry for entry in response.json()["responses"]}


async def control(client, method, path, **more):
    return await client.request(method, f"http://sandbox.test{path}", **more)


async def test_each_part_has_a_status_of_its_own(client, world):
    mail = world.arrive("Lease")
    base = "http://sandbox.test/provider-b/v1.0"
    answers = await run(
        client,
        part("a", "/me/messages?$select=subject&$top=1"),
        part("b", f"{base}/me/messages/{mail.id}?$select=subject"),
        part("c", "me/messages/wrong"),
        part(
            "d",
            f"/me/messages/{mail.id}",
            "PATCH",
            body={"isRead": True},
            headers={"Content-Type": "application/json", "Prefer": 'IdType="ImmutableId"'},
        ),
        part("e", f"/me/messages/{mail.id}", "DELETE", depends_on=["d"]),
        part("f", f"/me/messages/{mail.id}", dependsOn=["c"]),
        part("g", f"/me/messages/{mail.id}/$value", dependsOn=["e"]),
    )

    assert {name: one["status"] for name, one in answers.items()} == {
        "a": 200,
        "b": 200,
        "c": 400,
        "d": 200,
        "e": 204,
        "f": 424,
        "g": 404,
    }
    assert answers["a"]["body"]["value"][0]["subject"] == "Lease"
    assert answers["b"]["body"]["subject"] == "Lease"
    assert answers["c"]["body"]["error"]["code"] == "ErrorInvalidIdMalformed"
    assert answers["d"]["body"]["id"] == mail.immutable_id
    assert answers["d"]["headers"]["Preference-Applied"] == 'IdType="ImmutableId"'
    assert "body" not in answers["e"]


async def test_bytes_come_as_base64(client, world):
    mail = world.arrive("Lease", files={"a.pdf": b"pdf!"})
    listed = await client.get(f"/me/messages/{mail.id}/attachments")
    path = f"/me/messages/{mail.id}/attachments/{listed.json()['value'][0]['id']}/$value"
    answers = await run(client, part("1", path))

    assert answers["1"]["body"] == "cGRmIQ=="


async def test_a_list_in_a_batch_links_to_its_next_page(client, world):
    world.arrive("one", minute=1)
    world.arrive("two", minute=2)
    answers = await run(client, part("1", "/me/messages?$top=1&$select=subject"))
    second = await client.get(answers["1"]["body"]["@odata.nextLink"])

    assert [entry["subject"] for entry in second.json()["value"]] == ["one"]


REFUSED = {
    "no list": {"requests": None},
    "an empty list": {"requests": []},
    "more than twenty": {"requests": [part(str(n), "/me") for n in range(21)]},
    "an id twice": {"requests": [part("1", "/me"), part("1", "/me")]},
    "no id": {"requests": [{"method": "GET", "url": "/me"}]},
    "an unknown method": {"requests": [part("1", "/me", "BREW")]},
    "no address": {"requests": [part("1", "")]},
    "a dependency on nothing": {"requests": [part("1", "/me", dependsOn=["2"])]},
    "a body without a type": {"requests": [part("1", "/me/messages", "POST", body={})]},
}


@pytest.mark.parametrize("label", REFUSED)
async def test_a_batch_refuses(client, world, label):
    response = await client.post("/$batch", json=REFUSED[label])

    assert (response.status_code, response.json()["error"]["code"]) == (400, "BadRequest")


async def test_twenty_calls_fit(client, world):
    answers = await run(client, *(part(str(n), "/me") for n in range(20)))

    assert {answer["status"] for answer in answers.values()} == {200}


async def test_a_batch_in_a_batch_is_refused(client):
    answers = await run(client, part("1", "/$batch", "POST"))

    assert answers["1"]["status"] == 400


async def test_single_parts_can_be_throttled_and_are_logged_one_by_one(client, world):
    await control(
        client,
        "PUT",
        "/faults/provider-b",
        json={"kind": "429", "count": 1, "retryAfter": 7, "match": "mailFolders"},
    )
    answers = await run(client, part("1", "/me/mailFolders"), part("2", "/me/mailFolders?$top=1"))
    calls = (await control(client, "GET", "/calls/provider-b")).json()["calls"]

    assert [answers[name]["status"] for name in ("1", "2")] == [429, 200]
    assert answers["1"]["headers"]["Retry-After"] == "7"
    assert answers["1"]["body"]["error"]["code"] == "ApplicationThrottled"
    assert [(call["method"], call["path"], call["fault"]) for call in calls] == [
        ("POST", "/v1.0/$batch", None),
        ("GET", "/v1.0/me/mailFolders", "429"),
        ("GET", "/v1.0/me/mailFolders", None),
    ]
    assert calls[0]["batch"] is None
    assert calls[1]["batch"] == calls[2]["batch"] is not None


async def test_a_part_that_is_never_answered_breaks_the_batch(client, world):
    await control(
        client, "PUT", "/faults/provider-b", json={"kind": "reset", "match": "mailFolders"}
    )

    with pytest.raises(ConnectionResetError):
        await run(client, part("1", "/me/mailFolders"), part("2", "/me"))


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("401", 401, "InvalidAuthenticationToken"),
        ("403", 403, "ErrorAccessDenied"),
        ("404", 404, "ErrorItemNotFound"),
        ("429", 429, "ApplicationThrottled"),
        ("503", 503, "serviceNotAvailable"),
    ],
)
async def test_faults_have_the_error_codes_of_graph(client, world, kind, status, code):
    await control(client, "PUT", "/faults/provider-b", json={"kind": kind, "count": 1})

    response = await client.get("/me/messages")

    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert (await client.get("/me/messages")).status_code == 200
