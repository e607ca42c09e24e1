"""Links in bodies and descriptions, and the mail around an event, over a world of all surfaces."""

import calendar_world
import content_world
import pytest
import task_world
import whole_world
import world as worlds

from sandbox.collab import records as r
from sandbox.collab.files import items

LINKS = "links { webUrls taskItems { url item { id name } } files { files { id name } hasMore } }"
ITEM_HOST, TASK_HOST = "https://yard.boards.example", "https://app.projects.example"


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("links")) as world:
        connecting = task_world.connect(world.world, world.tasks, "PROJECTS", resource=worlds.MAIN)
        world.runner.run(connecting)
        world.parameters["mail"] = _plant_mail(world)
        _plant_meetings(world)
        yield world


def _addresses(world):
    content = world.world.sandbox.state.content
    named = {item.name: item for item in content.every(r.Item)}
    return {
        "sketch": items.web_url(content, named["sketch.pdf"]),
        "plan": items.web_url(content, named["plan.docx"]),
        "door": f"{ITEM_HOST}/boards/{world.parameters['boardId']}/pulses/{world.tasks['door']}",
        "roof": f"{TASK_HOST}/1/11/task/{world.tasks['roof']}",
    }


def _plant_mail(world):
    urls = _addresses(world)
    text = (
        f"The sketch ({urls['sketch']}?web=1) is older than {urls['plan']}.\n"
        f"Lost: {urls['plan']}.old\n{urls['door']}\n{urls['roof']}\n{urls['door']}9\n"
    )
    mail = worlds.mail("links", worlds.ANA, "me@a.example", "Links", text, at="2026-11-19T09:00:00")
    world.world.sandbox.state.mails.add_many("provider-a", [mail])
    (email,) = ask(world, '{ emails(subject: "Links") { emails { id } } }')["data"]["emails"][
        "emails"
    ]
    return email["id"]


def _plant_meetings(world):
    ana, bo = calendar_world.ANA, calendar_world.BO
    meeting = calendar_world.meeting(
        calendar_world.at(0, "09:00"),
        calendar_world.at(0, "10:00"),
        "Hull",
        attendees=(ana, bo),
        description=f"See {_addresses(world)['sketch']}",
    )
    world.agendas.plant("work", "Hull", meeting)


def ask(world, query, secret=None):
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    if secret is None:
        return world.call("POST", "/graphql", json={"query": query})[0].json()
    return world.runner.run(_ask(world, query, secret))


async def _ask(world, query, secret):
    async with world.world.client(secret) as client:
        return (await client.post("/graphql", json={"query": query})).json()


def token(world, **settings):
    return world.runner.run(world.world.token({**whole_world.SETTINGS, **settings}))


def links(world, secret=None, selected=LINKS, more=""):
    email = f'email(emailId: "{world.parameters["mail"]}"{more}) {{ {selected} }}'
    body = ask(world, f"{{ {email} }}", secret)
    return body["data"]["email"]["links"], body.get("errors", [])


def upstreams(world):
    wires = world.world.sandbox.upstreams.items()
    return sorted(name for name, upstream in wires if upstream.calls)


@pytest.mark.slow
def test_a_body_leads_to_the_files_and_task_items_that_it_names(world):
    urls = _addresses(world)
    seen, errors = links(world)

    assert seen["webUrls"].split() == [
        f"{urls['sketch']}?web=1",
        urls["plan"],
        f"{urls['plan']}.old",
    ]
    names = {file["name"] for file in seen["files"]["files"]}
    assert names == {"sketch.pdf", "plan.docx"}
    assert seen["taskItems"] == [
        {"url": urls["door"], "item": {"id": world.tasks["door"], "name": "Paint the door"}},
        {"url": urls["roof"], "item": {"id": world.tasks["roof"], "name": "Draw the roof"}},
        {"url": f"{urls['door']}9", "item": None},
    ]
    (error,) = errors
    assert error["path"] == ["email", "links", "taskItems", 2, "item"]
    assert error["extensions"]["code"] == "NOT_FOUND"


def test_all_files_of_a_text_are_one_search(world):
    links(world, selected="links { files { files { name } } }")

    searches = [
        call for call in world.world.sandbox.upstreams["collab"].calls if "search" in call["path"]
    ]
    assert len(searches) == 1


def test_a_hidden_body_leads_to_nothing_and_nothing_is_asked_for_it(world):
    fields = ["subject", "from"]
    seen, errors = links(world, token(world, visibleEmailFields=fields))

    assert (seen, errors) == (None, [])
    assert upstreams(world) in ([], ["providerA"])


def test_a_body_that_is_not_read_leads_to_nothing(world):
    seen, errors = links(world, more=", includeBody: false")

    assert (seen, errors) == (None, [])
    assert upstreams(world) == ["providerA"]


@pytest.mark.parametrize("hidden", ["name", "web_view_link"])
def test_files_are_not_looked_up_by_what_is_hidden(world, hidden):
    visible = [word for word in ("name", "web_view_link", "modified_time") if word != hidden]
    secret = token(world, visibleCollabFields=visible)
    seen, errors = links(world, secret, "links { files { files { id } } }")

    assert seen == {"files": None}
    assert [error["extensions"]["code"] for error in errors] == ["FIELD_NOT_VISIBLE"]
    assert upstreams(world) == ["providerA"]


def test_without_the_operations_the_links_lead_nowhere_and_nobody_is_asked(world):
    secret = token(world, allowedCollabOperations=[], allowedTaskOperations=["view_boards"])
    seen, errors = links(world, secret, "links { taskItems { item { id } } files { hasMore } }")

    assert seen == {"taskItems": [{"item": None}] * 3, "files": None}
    assert {error["extensions"]["code"] for error in errors} == {"OPERATION_NOT_ALLOWED"}
    assert upstreams(world) == ["providerA"]


def test_a_blocked_file_is_left_out_like_one_that_does_not_exist(world):
    secret = world.runner.run(_blocking(world, world.parameters["fileId"]))
    seen, errors = links(world, secret, "links { files { files { name } } }")

    assert seen == {"files": {"files": [{"name": "plan.docx"}]}}
    assert errors == []


async def _blocking(world, file_id):
    secret = await world.world.token(whole_world.SETTINGS)
    listed = await world.world.admin.get("/api/access-tokens", params={"limit": 200})
    token_id = max(entry["id"] for entry in listed.json()["tokens"])
    rules = [{"ruleType": "file_id", "pattern": file_id, "action": "block"}]
    path = f"/api/access-tokens/{token_id}/collab-rules"
    assert (await world.world.admin.put(path, json={"rules": rules})).status_code == 200
    return secret


BAD = ["https://x.example/news/a.txt", f"{'https://x.example/sites/a/b.txt ' * 2}x", "a b"]


@pytest.mark.parametrize("urls", BAD)
def test_what_is_no_address_of_a_file_is_refused(world, urls):
    body = ask(world, f'{{ collabFiles(webUrls: "{urls}") {{ hasMore }} }}')

    assert body["data"] == {"collabFiles": None}
    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert upstreams(world) == []


def test_too_many_addresses_are_refused(world):
    urls = " ".join(f"https://x.example/sites/a/{number}.txt" for number in range(21))
    body = ask(world, f'{{ collabFiles(webUrls: "{urls}") {{ hasMore }} }}')

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert upstreams(world) == []


RELATED = """{ calendarEvents(q: "Hull", from: "2026-01-01", to: "2027-12-31") { events {
    related {
        participants from to
        emails { emails { subject } }
        links { files { files { name } } }
    }
} } }"""


def related(world, secret=None):
    body = ask(world, RELATED, secret)
    (event,) = body["data"]["calendarEvents"]["events"]
    return event["related"], [error["extensions"]["code"] for error in body.get("errors", [])]


def test_a_meeting_leads_to_the_mail_of_its_attendees_in_its_days(world):
    day = calendar_world.day(0)
    for title, hour in (("The hull today", 8), ("The hull later", 30)):
        sent = f"{calendar_world.day(hour // 24).date()}T{hour % 24:02}:00:00"
        mail = worlds.mail(title, worlds.BO, "me@a.example", title, "Text.\n", at=sent)
        world.world.sandbox.state.mails.add_many("provider-a", [mail])

    seen, errors = related(world)

    assert errors == []
    assert seen["participants"] == [calendar_world.ANA.email, calendar_world.BO.email]
    assert seen["from"] == calendar_world.text(day)
    assert seen["to"] == calendar_world.text(calendar_world.day(1))
    assert [email["subject"] for email in seen["emails"]["emails"]] == ["The hull today"]
    assert seen["links"]["files"]["files"] == [{"name": "sketch.pdf"}]


HIDDEN = [("attendees", "participants"), ("times", "from"), ("description", None)]


@pytest.mark.parametrize(("word", "member"), HIDDEN)
def test_what_is_hidden_of_a_meeting_leads_to_nothing(world, word, member):
    words = ["title", "attendees", "times", "description"]
    secret = token(world, visibleCalendarFields=[name for name in words if name != word])
    seen, errors = related(world, secret)

    assert errors == []
    if member is None:
        assert seen["links"] is None
        assert seen["emails"] is not None
    else:
        assert (seen[member], seen["emails"]) == (None, None)
        assert _searches(world) == 0
        assert seen["links"] is not None


def _searches(world):
    calls = world.world.sandbox.upstreams["providerA"].calls
    return sum("/messages" in call["path"] for call in calls)


def test_own_addresses_are_no_participants(world):
    own = ask(world, "{ accessToken { connections { accountEmail } } }")["data"]["accessToken"]
    address = next(filter(None, (entry["accountEmail"] for entry in own["connections"])))
    people = f"{address.upper()}, {content_world.BOB}, no address, {content_world.BOB}"
    body = ask(world, f'{{ related(participants: "{people}") {{ participants from }} }}')

    assert body["data"]["related"] == {"participants": [content_world.BOB], "from": None}


@pytest.mark.parametrize(
    ("start", "end", "refused"),
    [
        ("2026-11-19T10:00:00Z", "2026-11-20T00:00:00Z", False),
        ("2026-11-19T10:00:00Z", "9999-12-31T23:59:59Z", True),
        ("0001-01-01", "2026-11-20T00:00:00Z", True),
    ],
)
def test_days_that_do_not_exist_are_refused(world, start, end, refused):
    document = f'{{ related(from: "{start}", to: "{end}") {{ from to }} }}'
    body = ask(world, document)

    if refused:
        assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    else:
        assert body["data"]["related"] == {
            "from": "2026-11-19T00:00:00Z",
            "to": "2026-11-20T00:00:00Z",
        }
