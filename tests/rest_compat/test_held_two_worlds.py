"""What others learn of held writes: nothing; and what is shown of hidden values: nothing."""

import asyncio

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from rest_compat.held.waiting import MAX_WAITING_OF_TOKEN

MESSAGES, WRITES = "/api/access/email/messages", "/api/access/writes"
APPROVE = {"writes": "approve"}
MARK = "quartz-falcon"
MESSAGE = {"to": [{"email": f"{MARK}@work.example"}], "subject": MARK, "body": f"Body {MARK}."}
PENDING = "query ($id: String!) { pendingWrite(id: $id) { id state effect result } }"
SEND = """mutation Send($input: SendEmailInput!) {
  sendEmail(input: $input) { success emailId held }
}"""
DROP = "mutation Drop($emailId: String!) { deleteEmail(emailId: $emailId) { success } }"


async def run_due(world):
    releases = world.gateway.services.releases
    await releases.run_due()
    await releases.idle()


async def release(world, write_id):
    response = await world.admin.post(f"/api/held-writes/{write_id}/release")
    await run_due(world)
    return response


def without_request_id(response):
    """Return status, headers and body, in which the id of the request is replaced."""
    own = response.headers["x-request-id"]
    headers = sorted((name, value.replace(own, "-")) for name, value in response.headers.items())
    timing = {"date", "x-ratelimit-remaining", "ratelimit", "server-timing", "x-ratelimit-reset"}
    kept = [(name, value) for name, value in headers if name not in timing]
    return response.status_code, kept, response.content.replace(own.encode(), b"-")


@pytest.mark.parametrize("ended", [False, True])
async def test_the_id_of_another_token_is_answered_as_one_of_nobody(world, ended):
    async with (
        world.client(await world.token(APPROVE)) as asking,
        world.client(await world.token(APPROVE)) as stranger,
        world.client(await world.token({})) as direct,
    ):
        held = (await asking.post(f"{MESSAGES}/send", json=MESSAGE)).json()
        if ended:
            await release(world, held["id"])
        unknown = "".join(reversed(held["id"]))
        for other in (stranger, direct):
            answers = []
            for write_id in (held["id"], unknown):
                document = {"query": PENDING, "variables": {"id": write_id}}
                headers = {"prefer": "wait=1"}
                answers.append(
                    [
                        without_request_id(response)
                        for response in (
                            await other.get(f"{WRITES}/{write_id}"),
                            await other.get(f"{WRITES}/{write_id}", headers=headers),
                            await other.post("/graphql", json=document),
                        )
                    ]
                )
            assert answers[0] == answers[1]
            assert [status for status, _, _ in answers[0]] == [404, 404, 200]
        for strange in ("x" * 23, "x" * 2000, "%C3%A9", "%00", "..%2F.."):
            response = await stranger.get(f"{WRITES}/{strange}")
            assert response.status_code in {400, 404}, strange


async def test_hidden_values_are_shown_to_nobody(world):
    """The people of the message that is replied to are hidden from the token."""
    settings = {**APPROVE, "visibleEmailFields": ["subject"], "maskMode": "basic"}
    async with world.client(await world.token(settings)) as asking:
        path = f"{MESSAGES}/{world.id('lease')}/reply"
        held = await asking.post(path, json={"body": "Yes.", "replyAll": True})
        assert held.status_code == 202, held.text
        write_id = held.json()["id"]
        state = await asking.get(f"{WRITES}/{write_id}")
        shown = await world.admin.get(f"/api/held-writes/{write_id}")
        listed = await world.admin.get("/api/held-writes")
        await release(world, write_id)
        done = await asking.get(f"{WRITES}/{write_id}")
    async with world.client(await world.token({})) as seeing:
        original = (await seeing.get(f"{MESSAGES}/{world.id('lease')}")).json()
    assert done.json()["state"] == "done"
    hidden = [original["from"]["email"], original["from"]["name"]]
    assert all(hidden)

    assert "hidden" in held.json()["effect"]["recipients"]
    for response in (held, state, shown, listed, done):
        for value in hidden:
            assert value not in response.text, value


async def test_texts_and_addresses_are_not_in_logs_metrics_decisions_or_the_database(world, caplog):
    caplog.set_level("DEBUG")
    async with world.client(await world.token(APPROVE)) as asking:
        held = (await asking.post(f"{MESSAGES}/send", json=MESSAGE)).json()
        rejected = (await asking.post(f"{MESSAGES}/send", json=MESSAGE)).json()
        path = f"/api/held-writes/{rejected['id']}/reject"
        await world.admin.post(path, json={"reason": "Not now."})
        await release(world, held["id"])
        done = await asking.get(f"{WRITES}/{held['id']}")
    assert done.json()["state"] == "done"
    metrics = await world.admin.get("/metrics")
    decisions = await world.admin.get("/api/decisions?limit=50")
    database = world.gateway.services.database
    async with database.reading() as session:
        rows = (
            await (await session.connection()).exec_driver_sql("SELECT * FROM held_writes")
        ).all()

    assert len(rows) == 2
    assert "releaseWrite" in decisions.text
    records = [str(record.__dict__) for record in caplog.records if record.name == "gateway"]
    assert records
    for text in (*records, metrics.text, decisions.text, str(rows)):
        assert MARK not in text


async def test_writes_of_saved_documents_wait_too(world):
    sending = {"document": SEND, "method": "POST", "path": "/api/saved/send", "status": 201}
    dropping = {
        "document": DROP,
        "method": "DELETE",
        "path": "/api/saved/mail/{emailId}",
        "status": 204,
    }
    for name, document in (("send", sending), ("drop", dropping)):
        response = await world.admin.put(f"/api/documents/{name}", json=document)
        assert response.status_code == 200, response.text
    world.forget_calls()
    async with world.client(await world.token(APPROVE)) as asking:
        sent = await asking.post("/api/saved/send", json=MESSAGE, headers={"prefer": "wait=0"})
        dropped = await asking.delete(f"/api/saved/mail/{world.id('lease')}")
        both = [sent.json(), dropped.json()]
        assert [sent.status_code, dropped.status_code] == [202, 202]
        assert [held["operation"] for held in both] == ["sendEmail", "deleteEmail"]
        assert world.sent("provider-a") + world.sent("provider-b") == []

        for held in both:
            assert (await release(world, held["id"])).status_code == 200
        ended = [(await asking.get(f"{WRITES}/{held['id']}")).json() for held in both]

    assert [(end["state"], end["status"]) for end in ended] == [("done", 201), ("done", 204)]
    assert ended[0]["result"]["success"] is True
    assert ended[1]["result"] is None
    assert len(world.sent("provider-a") + world.sent("provider-b")) == 1


@pytest.mark.slow
async def test_those_who_wait_share_one_look_a_second(world):
    """Requests that wait, and those who are too many and do not, cost a look each and no more."""
    statements = []

    def note(connection, cursor, statement, *rest):
        if "held_writes" in statement and statement.startswith("SELECT"):
            statements.append(statement)

    async with world.client(await world.token(APPROVE)) as asking:
        held = (await asking.post(f"{MESSAGES}/send", json=MESSAGE)).json()
        path, headers = f"{WRITES}/{held['id']}", {"prefer": "wait=4"}
        event.listen(Engine, "before_cursor_execute", note)
        try:
            asked = MAX_WAITING_OF_TOKEN + 4
            waiting = [asyncio.create_task(asking.get(path, headers=headers)) for _ in range(asked)]
            done, open_ = await asyncio.wait(waiting, timeout=2)
            assert (len(done), len(open_)) == (4, MAX_WAITING_OF_TOKEN)
            at_once = [task.result().json()["state"] for task in done]
            await world.admin.post(f"/api/held-writes/{held['id']}/reject")
            answers = await asyncio.gather(*waiting)
        finally:
            event.remove(Engine, "before_cursor_execute", note)

    assert at_once == ["held"] * 4
    assert [answer.json()["state"] for answer in answers].count("rejected") == MAX_WAITING_OF_TOKEN
    polls = [each for each in statements if " IN (" in each and "NOT IN" in each]
    assert len(polls) <= 4
    # Each request reads the row before and after it waits; the background looks once a second.
    assert len(statements) <= 2 * asked + 20
