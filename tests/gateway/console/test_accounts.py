"""Jobs 2 and 3: accounts are connected, tested and reconnected as by the management API."""

import html
import re

import pytest
import pytest_asyncio
from consents import agree
from console_rows import alike, changes

from providers.server_discovery.search import Confirmation, Discovery, Server, StepOutcome
from sandbox.projects.records import User, Workspace
from sandbox.projects.store import ProjectStore

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

NORA = "nora.lindqvist@harbourlight.example"
GMAIL = "email/PROVIDER_A/consent"
MAILBOX = "email/IMAP/password"


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


@pytest_asyncio.fixture(loop_scope="module")
async def connected(admin, operator, resource):
    """An account of the sandbox that was never consented to."""
    new = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "email",
        "provider": "PROVIDER_A",
        "accountEmail": NORA,
    }
    made = await admin.post("/api/connections", json=new)
    assert made.status_code == 201, made.text
    return made.json()


async def the_only(admin):
    (connection,) = (await admin.get("/api/connections")).json()["connections"]
    return connection


@pytest.mark.usefixtures("resource")
async def test_an_account_is_connected_by_consent(browser, submit, admin, client, operator):
    page = await browser.open(f"/console/accounts/new/{operator}")
    assert f'href="/console/accounts/new/{operator}/{GMAIL}"' in page.text
    await browser.open(f"/console/accounts/new/{operator}/{GMAIL}")
    _, last = await changes(admin)
    asked = await submit(f"/console/accounts/new/{operator}/{GMAIL}", accountEmail=NORA)
    rows, last = await changes(admin, after=last)
    made = await the_only(admin)
    assert made["status"] == "needs_reauth"
    url = html.unescape(re.search(r'class="button" href="([^"]*)"', asked.text)[1])
    consented = await client.get(await agree(client, url, login_hint=NORA))
    assert consented.status_code == 200
    page = await browser.open(f"/console/accounts/{made['id']}")
    tested = await submit(f"/console/accounts/{made['id']}/test")
    assert '<p class="box ok" role="status">It works.' in tested.text
    assert (await the_only(admin))["status"] == "active"

    await admin.delete(f"/api/connections/{made['id']}")
    _, last = await changes(admin, after=last)
    new = {name: made[name] for name in ("resourceId", "operatorId", "kind", "provider")}
    again = await admin.post("/api/connections", json={**new, "accountEmail": NORA})
    await admin.post(f"/api/connections/{again.json()['id']}/reconnect")
    of_api, _ = await changes(admin, after=last)
    assert alike(rows) == alike(of_api) != []


@pytest.mark.usefixtures("resource")
@pytest.mark.parametrize(("secret", "status"), [("right", "active"), ("wrong", "needs_reauth")])
async def test_an_api_token_is_tested(
    *, browser, submit, admin, gateway, sandbox, operator, secret, status
):
    path = f"/console/accounts/new/{operator}/tasks/PROJECTS/api-token"
    projects = ProjectStore(sandbox.state.database)
    space = projects.workspaces.put(Workspace(id="1", name="W"))
    user = User(id=projects.new_id(), owner=space.id, position=0, name="Nora", email=NORA)
    projects.users.put(user)
    token = sandbox.state.tokens.issue("projects", NORA, ["default"])
    await browser.open(path)
    tested = await submit(
        path, accountEmail=NORA, secret=token if secret == "right" else "a-wrong-token"
    )
    made = await the_only(admin)

    assert tested.status_code == 200
    assert made["status"] == status
    assert ("It works." if status == "active" else "It does not work.") in tested.text
    assert token not in tested.text
    await browser.open(f"/console/accounts/{made['id']}")
    _, last = await changes(admin)
    replaced = await submit(f"/console/accounts/{made['id']}/secret", secret=token)
    rows, last = await changes(admin, after=last)
    await admin.patch(f"/api/connections/{made['id']}", json={"credentials": {"apiToken": token}})
    of_api, _ = await changes(admin, after=last)
    assert "It works." in replaced.text
    assert alike(rows) == alike(of_api) != []
    assert (await the_only(admin))["status"] == "active"


@pytest.fixture
def discovered(gateway, monkeypatch):
    """A function that makes searches for servers find *discovery*; returns what was asked."""
    asked = []

    def answer(discovery):
        async def discover(search, *, dns_server):
            asked.append((search, dns_server))
            return discovery

        monkeypatch.setattr(gateway.services.accounts, "discover", discover)
        return asked

    return answer


@pytest.mark.usefixtures("resource")
async def test_a_password_is_stored_for_the_server_that_takes_it(
    browser, submit, admin, operator, discovered
):
    found = Server(
        server="imaps://127.0.0.1:9",
        username="nora",
        signed_in=True,
        submission="smtps://127.0.0.1:9",
    )
    asked = discovered(Discovery(mail=found))
    await browser.open(f"/console/accounts/new/{operator}/{MAILBOX}")
    tested = await submit(
        f"/console/accounts/new/{operator}/{MAILBOX}", accountEmail=NORA, secret="geheim"
    )
    made = await the_only(admin)

    assert (made["provider"], made["baseUrl"]) == ("IMAP", "imaps://127.0.0.1:9")
    assert made["status"] == "error"  # nothing listens there
    assert "It does not work." in tested.text
    ((search, _),) = asked
    assert (search.email, search.password, search.calendar) == (NORA, "geheim", False)


@pytest.mark.usefixtures("resource")
@pytest.mark.parametrize("refused", [True, False])
async def test_nothing_is_stored_where_no_server_takes_the_password(
    *, browser, submit, admin, operator, discovered, refused
):
    discovery = Discovery(
        mail=Server(server="imaps://x", username="n", refused=True) if refused else None
    )
    discovery.ask("mail.example.org", Confirmation("mail.example.org", "DNS alone <names> it."))
    discovery.add("imaps://x", StepOutcome.FAILED, "It refuses.")
    asked = discovered(discovery)
    path = f"/console/accounts/new/{operator}/{MAILBOX}"
    await browser.open(path)
    shown = await submit(path, accountEmail=NORA, secret="geheim")

    assert shown.status_code == 400
    assert ("the server refuses the password" in shown.text) is refused
    assert "DNS alone &lt;names&gt; it." in shown.text
    assert "geheim" not in shown.text
    assert (await admin.get("/api/connections")).json()["connections"] == []
    await submit(path, secret="geheim", confirmed="mail.example.org")
    assert asked[-1][0].confirmed == {"mail.example.org"}


async def test_a_way_without_a_client_says_what_it_needs(settings, operator, browser_of):
    from gateway.app import assemble

    async with assemble(settings).running() as without_sandbox:
        browser = browser_of(without_sandbox)
        await browser.sign_in()
        page = await browser.open(f"/console/accounts/new/{operator}")
        assert "AGW_PROVIDER_A_CLIENT_ID and AGW_PROVIDER_A_CLIENT_SECRET" in page.text
        path = f"/console/accounts/new/{operator}/{GMAIL}"
        assert (await browser.open(path)).status_code == 404


@pytest.mark.parametrize("path", ["email/PROVIDER_A/api-token", "email/X/consent", "x/y/z"])
async def test_an_unknown_way_is_404(browser, operator, path):
    assert (await browser.open(f"/console/accounts/new/{operator}/{path}")).status_code == 404


@pytest.mark.parametrize(
    ("action", "call", "form"),
    [("reconnect", "reconnect", {}), ("link", "reconnect-link", {"hours": "1"})],
)
async def test_an_account_is_renewed_as_by_the_management_api(
    *, browser, submit, admin, connected, action, call, form
):
    await browser.open(f"/console/accounts/{connected['id']}")
    _, last = await changes(admin)
    done = await submit(f"/console/accounts/{connected['id']}/{action}", **form)
    rows, last = await changes(admin, after=last)
    await admin.post(f"/api/connections/{connected['id']}/{call}", json={})
    of_api, _ = await changes(admin, after=last)

    assert done.status_code == 200
    assert alike(rows) == alike(of_api) != []
    assert ("/oauth/link/" in done.text) is (action == "link")


async def test_a_link_works_once_and_only_for_its_owner(browser, submit, admin, client, connected):
    await browser.open(f"/console/accounts/{connected['id']}")
    page = await submit(f"/console/accounts/{connected['id']}/link", hours="24")
    link = re.search(r'<pre class="secret">([^<]*)</pre>', page.text)[1]
    begun = await client.post(link)
    await client.get(await agree(client, begun.headers["location"], login_hint=NORA))

    assert (await the_only(admin))["status"] == "active"
    assert (await client.get(link)).status_code == 410


async def test_an_account_is_checked_without_changing_it(browser, submit, admin, connected):
    await browser.open(f"/console/accounts/{connected['id']}")
    _, last = await changes(admin)
    checked = await submit(f"/console/accounts/{connected['id']}/check")
    rows, _ = await changes(admin, after=last)

    assert checked.status_code == 200
    assert "Something failed." in checked.text
    assert rows == []


async def test_accounts_that_cannot_be_used_come_first(browser, admin, connected):
    await admin.patch(f"/api/connections/{connected['id']}", json={"status": "disabled"})
    for path in ("/console/", "/console/accounts"):
        page = await browser.open(path)
        assert f'href="/console/accounts/{connected["id"]}"' in page.text
        assert '<td class="bad">disabled</td>' in page.text


async def test_an_account_that_does_not_exist_is_404(browser):
    assert (await browser.open("/console/accounts/999")).status_code == 404
    refused = await browser.send("/console/accounts/999/test")
    assert refused.status_code == 404


USES = {
    "disable": ("patch", {"json": {"status": "disabled"}}),
    "enable": ("patch", {"json": {"status": "active"}}),
    "remove": ("delete", {}),
}


@pytest.mark.parametrize("step", USES)
async def test_the_use_of_an_account_ends_as_by_the_management_api(browser, admin, connected, step):
    method, body = USES[step]
    other = {name: connected[name] for name in ("resourceId", "operatorId", "kind", "provider")}
    second = (await admin.post("/api/connections", json={**other, "accountEmail": NORA})).json()
    await browser.open(f"/console/accounts/{connected['id']}")
    _, last = await changes(admin)
    done = await browser.send(f"/console/accounts/{connected['id']}/{step}")
    rows, last = await changes(admin, after=last)
    await getattr(admin, method)(f"/api/connections/{second['id']}", **body)
    of_api, _ = await changes(admin, after=last)

    assert len(rows) == 1
    assert alike(rows) == alike(of_api)
    after = await admin.get(f"/api/connections/{connected['id']}")
    if step == "remove":
        assert done.status_code == 200
        assert f"<bdi>{NORA}</bdi>" in done.text
        assert after.status_code == 404
    else:
        assert done.headers["location"] == f"/console/accounts/{connected['id']}"
        assert after.json()["status"] == ("active" if step == "enable" else "disabled")


@pytest.mark.parametrize("step", ["open", "status", "TEST"])
async def test_an_unknown_step_does_nothing_with_an_account(browser, admin, connected, step):
    await browser.open(f"/console/accounts/{connected['id']}")
    _, last = await changes(admin)
    refused = await browser.send(f"/console/accounts/{connected['id']}/{step}")

    assert refused.status_code == 404
    assert (await changes(admin, after=last))[0] == []


@pytest.mark.usefixtures("resource")
async def test_an_app_only_account_is_connected_as_by_the_management_api(
    browser, submit, admin, operator
):
    path = f"/console/accounts/new/{operator}/collab/COLLAB/client"
    await browser.open(path)
    _, last = await changes(admin)
    client = {"clientId": "c", "tenant": "harbourlight.example", "secret": "the-client-secret"}
    tested = await submit(path, accountEmail=NORA, sites="s1\r\n s2", **client)
    rows, last = await changes(admin, after=last)
    made = await the_only(admin)
    new = {name: made[name] for name in ("resourceId", "operatorId", "kind", "provider", "mode")}
    new |= {name: made[name] for name in ("grantedScopes", "selectedSiteIds")}
    credentials = {"clientId": "c", "tenant": client["tenant"], "clientSecret": client["secret"]}
    await admin.post(
        "/api/connections", json={**new, "accountEmail": NORA, "credentials": credentials}
    )
    of_api, _ = await changes(admin, after=last)

    assert alike(rows) == alike(of_api) != []
    assert (made["mode"], made["selectedSiteIds"]) == ("selected_sites", ["s1", "s2"])
    assert made["grantedScopes"] == ["Sites.Selected"]
    assert made["status"] == "active"  # the client is asked for a token, and a site is read
    assert "It works." in tested.text
    assert client["secret"] not in tested.text
    assert "Reconnect by consent" not in tested.text
