"""Job 9: held writes are shown, released and rejected, by admins and by approvers."""

import hashlib
import html
import re

import pytest
import pytest_asyncio
from console_rows import alike, changes
from held_rows import held_row
from recorded_statements import recorded_selects
from sqlmodel import select

from gateway.console import routes
from gateway.console.jobs import alive
from gateway.console.jobs import writes as writes_page
from gateway.operations.approvals import approvers, decisions
from gateway.store.further_tables import HeldWriteRow

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]
HOSTILE = '"><script>alert(1)</script>{{ 7 * 7 }}\u202e'
ESCAPED = "&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{ 7 * 7 }}\u202e"
OTHERS = "00000000-0000-4000-8000-000000000000"


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def _nothing_runs(gateway, monkeypatch):
    """What is released stays so: these tests are about who may, and what is shown."""

    async def nothing():
        pass

    monkeypatch.setattr(gateway.services.releases, "run_due", nothing)


@pytest_asyncio.fixture(loop_scope="module")
async def hold(gateway, token, operator):
    """A function that stores held writes of the token, each by its id and members."""

    async def store(*ids, **members):
        async with gateway.services.database.writing() as session:
            for number, write_id in enumerate(ids):
                values = {"token_id": token["id"], "operator_id": operator}
                created = {"created_at": 1_700_000_000_000 + number}
                row = held_row(
                    gateway.services.keyring, write_id, **{**values, **created, **members}
                )
                session.add(row)

    return store


@pytest.fixture
def stored(gateway):
    """A function that reads state and decider of each held write, by id."""

    async def read():
        async with gateway.services.database.reading() as session:
            rows = await session.exec(select(HeldWriteRow))
            return {row.id: (row.state, row.decided_by) for row in rows}

    return read


@pytest.fixture
def approver(admin, gateway, browser_of):
    """A function that adds an approver, and returns its id and a browser signed in as it."""

    async def make(name="Ada", to="/console/", **limits):
        made = (await admin.post("/api/approvers", json={"name": name, **limits})).json()
        browser = browser_of(gateway)
        browser.signed_in = await browser.sign_in(made["credential"], to=to)
        return made["id"], browser

    return make


def shown(page):
    return re.findall(r'name="id" value="([^"]*)"', page.text)


async def test_what_waits_is_shown_with_its_effect_and_who_asked(browser, hold, token):
    await hold("w1", "w2", body="the whole text")
    await hold("w3", state="done", reason="It was done.", decided_by="bo")
    first = await browser.open("/console/")
    page = await browser.open("/console/writes")

    assert "2 wait for a person" in first.text
    assert shown(page) == ["w2", "w1"]
    for sentence in ("Send a message.", "To bo@work.example.", "Subject: s", "the whole text"):
        assert page.text.count(sentence) == 2
    assert page.text.count(f"<bdi>{token['name']}</bdi> ({token['id']})") == 2
    done = await browser.open("/console/writes?state=done")
    assert shown(done) == []
    assert 'href="/console/writes/w3"' in done.text
    one = await browser.open("/console/writes/w3")
    assert "<bdi>bo</bdi>" in one.text
    assert "<button name" not in one.text


async def test_the_first_page_counts_no_more_than_it_shows(browser, hold, monkeypatch):
    monkeypatch.setattr(alive, "COUNTED", 2)
    await hold("late", expires_at=1)
    await hold("w1", "w2")
    assert ">2 wait for a person<" in (await browser.open("/console/")).text
    await hold("w3")
    assert ">More than 2 wait for a person<" in (await browser.open("/console/")).text


async def test_a_list_reads_nothing_of_what_is_sealed(gateway, hold):
    await hold("w1", "w2")
    query = {"state": None, "limit": 5}
    async with gateway.services.database.reading() as session:
        listed = decisions.list_newest(session, approvers.ADMIN, **query)
        statements = await recorded_selects(gateway.services.database, listed)
    assert len(statements) == 1
    assert "held_writes.content" not in str(statements[0])
    assert "held_writes.created_at" in str(statements[0])


async def test_nothing_waits(browser):
    assert "No write waits for a person." in (await browser.open("/console/")).text
    assert "Nothing waits." in (await browser.open("/console/writes")).text


@pytest.mark.parametrize("verb", ["release", "reject"])
async def test_a_decision_is_that_of_the_management_api(browser, admin, hold, stored, verb):
    await hold("w1", "w2")
    _, last = await changes(admin)
    await browser.open("/console/writes/w1")
    decided = await browser.send("/console/writes", id="w1", decision=verb, reason="No.")
    rows, last = await changes(admin, after=last)
    body = {"reason": "No."} if verb == "reject" else None
    by_api = await admin.post(f"/api/held-writes/w2/{verb}", json=body)
    others, _ = await changes(admin, after=last)

    assert decided.headers["location"] == "/console/writes/w1"
    assert by_api.status_code == 200
    assert len(rows) == 1
    assert rows[0]["operation"] == f"{verb}Write"
    assert rows[0]["resourceId"] == "w1"
    assert alike(rows) == alike(others)
    states = await stored()
    assert states["w1"] == states["w2"]
    members = [(await admin.get(f"/api/held-writes/{each}")).json() for each in ("w1", "w2")]
    assert members[0]["reason"] == members[1]["reason"] == ("No." if body else None)


async def test_several_are_decided_each_by_itself(browser, hold, stored):
    await hold("w1", "w2", "w3")
    await hold("w4", expires_at=1)
    await hold("w5")
    await browser.open("/console/writes")
    answer = await browser.send(
        "/console/writes", id=["w1", "w4", "gone", "w2"], decision="release"
    )

    assert answer.status_code == 200
    assert "2 were decided. Of these nothing was:" in answer.text
    refused = html.unescape(answer.text)
    assert "<code>w4</code>: This write does not wait any more: its time is over." in refused
    assert "<code>gone</code>: There is no such write." in refused
    released = ("releasing", "admin")
    waiting = ("held", None)
    assert await stored() == {
        **dict.fromkeys(("w1", "w2"), released),
        **dict.fromkeys(("w3", "w4", "w5"), waiting),
    }
    rest = await browser.send("/console/writes", id=["w3", "w5"], decision="reject")
    assert rest.headers["location"] == "/console/writes"
    assert (await stored())["w3"] == ("rejected", "admin")


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"decision": "release"}, 400),
        ({"id": "w1"}, 400),
        ({"id": "w1", "decision": "RELEASE"}, 400),
        ({"id": "w1", "decision": "reject", "reason": "x" * 201}, 400),
        ({"id": [f"w{n}" for n in range(21)], "decision": "release"}, 400),
        ({"id": "x" * 30, "decision": "release"}, 404),
        ({"id": "done", "decision": "release"}, 412),
        ({"id": "w1", "decision": "release", "form_token": "of another session"}, 403),
    ],
)
async def test_a_form_that_is_wrong_decides_nothing(browser, hold, stored, members, status):
    await hold("w1")
    await hold("done", state="done")
    await browser.open("/console/writes")
    refused = await browser.send("/console/writes", **members)

    assert refused.status_code == status
    assert await stored() == {"w1": ("held", None), "done": ("done", None)}


@pytest.mark.parametrize("query", ["state=waiting", "pageToken=1", "before=1"])
async def test_an_unknown_filter_is_refused(browser, query):
    assert (await browser.open(f"/console/writes?{query}")).status_code == 400


async def test_every_write_is_on_one_page(browser, hold, monkeypatch):
    monkeypatch.setattr(writes_page, "SHOWN", 3)
    await hold(*(f"w{n}" for n in range(4)), created_at=1)
    await hold(*(f"x{n}" for n in range(4)), created_at=2)
    path, seen = "/console/writes", []
    while path:
        page = await browser.open(path)
        seen.append(shown(page))
        older = re.search(r'<a href="(\?[^"]*)">Older ones', page.text)
        path = older and f"/console/writes{html.unescape(older[1])}"

    assert seen == [["x3", "x2", "x1"], ["x0", "w3", "w2"], ["w1", "w0"]]


async def test_texts_of_others_are_escaped(browser, hold, gateway):
    await hold("w1", subject=HOSTILE, body=HOSTILE, reason=HOSTILE)
    for path in ("/console/writes", "/console/writes/w1"):
        page = await browser.open(path)
        assert page.status_code == 200
        assert "<script" not in page.text
        assert f"<bdi>Subject: {ESCAPED}</bdi>" in page.text
        assert "49" not in re.findall(r"<pre[^>]*>.*?</pre>", page.text, re.DOTALL)[0]


async def test_an_admin_token_that_is_an_access_token_decides_nothing(  # noqa: PLR0917
    gateway, browser_of, hold, stored, token, monkeypatch
):
    text = token["token"]
    both = {**gateway.services.admins, hashlib.sha256(text.encode()).digest(): "careless"}
    monkeypatch.setitem(gateway.services.__dict__, "admins", both)
    await hold("w1")
    browser = browser_of(gateway)
    await browser.sign_in(text)
    assert (await browser.open("/console/")).status_code == 200
    assert (await browser.open("/console/writes")).status_code == 403
    assert (await browser.open("/console/writes/w1")).status_code == 403
    await browser.open("/console/")
    refused = await browser.send("/console/writes", id="w1", decision="release")

    assert refused.status_code == 403
    assert html.escape(writes_page.ACCESS_TOKEN) in refused.text
    assert await stored() == {"w1": ("held", None)}


# -- approvers


async def test_an_approver_signs_in_and_decides(approver, admin, hold, stored):
    await hold("w1")
    _, browser = await approver()
    assert browser.signed_in.headers["location"] == "/console/writes"
    page = await browser.open("/console/writes")
    assert "<bdi>approver Ada</bdi>" in page.text
    assert shown(page) == ["w1"]
    assert 'href="/console/tokens"' not in page.text
    await browser.send("/console/writes", id="w1", decision="release")
    rows, _ = await changes(admin)

    assert await stored() == {"w1": ("releasing", "approver Ada")}
    assert [(row["operation"], row["actor"]) for row in rows[-1:]] == [
        ("releaseWrite", "approver Ada")
    ]
    signed_in = (await admin.get("/api/decisions?operation=signInConsole")).json()["decisions"]
    assert "approver Ada" in {row["actor"] for row in signed_in}


async def test_an_approver_is_led_to_the_write_that_was_asked_for(approver, hold):
    await hold("w1")
    _, browser = await approver(to="/console/writes/w1")
    assert browser.signed_in.headers["location"] == "/console/writes/w1"
    _, browser = await approver(name="Bo", to="/console/tokens")
    assert browser.signed_in.headers["location"] == "/console/writes"


async def test_an_approver_sees_no_other_page(approver, admin, token):
    _, browser = await approver()
    own = [*writes_page.router.routes, *routes.router.routes]
    others = [
        (method, route.path)
        for part in (*routes.ROUTERS, routes._unknown)
        for route in part.routes
        for method in route.methods
        if route not in own
    ]
    assert len(others) > 40
    await browser.open("/console/writes")
    form_token = browser.hidden("form_token")
    for method, path in others:
        address = re.sub(r"{[^}]*}", str(token["id"]), path)
        answer = await browser.client.request(method, address, data={"form_token": form_token})
        assert answer.status_code == 403, (method, path)
        assert "An approver sees held writes and nothing else." in answer.text
        assert 'href="/console/writes">the first page' in answer.text
    rows, _ = await changes(admin)
    assert "approver Ada" not in {row["actor"] for row in rows}


@pytest.mark.parametrize("limits", ["operatorIds", "resourceIds"])
async def test_a_limited_approver_sees_and_decides_its_own_alone(  # noqa: PLR0917
    approver, admin, hold, stored, operator, resource, limits
):
    other = {"displayName": "Other", "email": "other@example.org"}
    person = (await admin.post("/api/operators", json=other)).json()["id"]
    account = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": "ada@example.org",
    }
    connection = (await admin.post("/api/connections", json=account)).json()["id"]
    await hold("own", connection_id=connection)
    await hold("other", operator_id=person, connection_id=connection + 1)
    allowed = {"operatorIds": [operator], "resourceIds": [resource]}[limits]
    _, browser = await approver(**{limits: allowed})

    assert shown(await browser.open("/console/writes")) == ["own"]
    assert (await browser.open("/console/writes/other")).status_code == 404
    await browser.open("/console/writes")
    refused = await browser.send("/console/writes", id="other", decision="release")
    assert refused.status_code == 404
    await browser.open("/console/writes")
    both = await browser.send("/console/writes", id=["own", "other"], decision="reject")
    assert "<code>other</code>: There is no such write." in both.text
    assert await stored() == {"own": ("rejected", "approver Ada"), "other": ("held", None)}


async def test_the_session_ends_when_the_approver_is_removed(approver, admin, hold, stored):
    await hold("w1")
    first, ended = await approver()
    _, kept = await approver(name="Bo")
    await ended.open("/console/writes")
    await kept.open("/console/writes")
    await admin.delete(f"/api/approvers/{first}")
    refused = await ended.send("/console/writes", id="w1", decision="release")

    assert refused.headers["location"] == "/console/sign-in"
    assert await stored() == {"w1": ("held", None)}
    assert (await ended.open("/console/writes")).status_code == 303
    assert (await kept.send("/console/writes", id="w1", decision="release")).status_code == 303
    assert await stored() == {"w1": ("releasing", "approver Bo")}


async def test_no_session_of_an_approver_becomes_another_s(approver, admin, gateway, hold):
    """The row names the approver, and its proof has the credential: neither alone is enough."""
    from gateway.store.sign_in_tables import ConsoleSession

    first, browser = await approver()
    second, _ = await approver(name="Bo")
    for claimed in (f"approver {second}", "admin", "approver Ada", f"approver {first}\u00b2"):
        async with gateway.services.database.writing() as session:
            rows = [*await session.exec(select(ConsoleSession))]
            row = next(each for each in rows if each.admin == f"approver {first}")
            row.admin = claimed
            session.add(row)
        assert (await browser.open("/console/writes")).status_code == 303, claimed
        _, browser = await approver(name=f"Ada of {claimed}", operatorIds=[])
        first = max(each["id"] for each in (await admin.get("/api/approvers")).json()["approvers"])
