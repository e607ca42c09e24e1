"""`check`, `test` and `doctor` of own servers: what is told of each failure, and the remedy."""

import json

import imap_account
import pytest
from command_line import CommandLine
from postfix import postfix_server

from gateway.connections.rows import SENDING_REFUSED
from providers.imap import connecting

MESSAGES = "/api/access/email/messages"
LOGIN = {"username": "ada@example.test", "password": "ada-secret"}

pytestmark = pytest.mark.slow  # two servers start


@pytest.fixture(scope="module")
def postfix(dovecot):
    with postfix_server(dovecot) as server:
        yield server


async def check(world, created):
    assert created.status_code == 201, created.text
    answer = await world.admin.post(f"/api/connections/{created.json()['id']}/check")
    return answer.json()["ok"], {
        finding["item"]: (finding["outcome"], finding["detail"])
        for finding in answer.json()["findings"]
    }


async def test_a_check_tells_what_the_servers_can_do(world, connect, postfix):
    created = await connect(credentials={**LOGIN, "submissionUrl": postfix.url()})

    ok, findings = await check(world, created)

    assert ok is True
    assert findings == {
        "credentials": (
            "as-expected",
            "The server takes the password, and the account can be read.",
        ),
        "extensions": ("as-expected", "The server has all extensions that the gateway uses."),
        "folders": (
            "as-expected",
            "The account has 5 folders; their roles are found in the list of the server.",
        ),
        "labels": ("as-expected", "The inbox takes new labels (keywords)."),
        "quota": ("as-expected", "The server has no quota, or does not report it."),
        "connections": (
            "as-expected",
            "3 connections at the same time are accepted, as a process may open.",
        ),
        "outgoing-mail": (
            "as-expected",
            "The server takes the login. Messages have at most 40 MiB.",
        ),
        "send": (
            "by-hand",
            "Send a message to yourself twice with the same Idempotency-Key: it must arrive once, "
            "with one copy in the Sent folder.",
        ),
    }


@pytest.fixture
def ports(dovecot, postfix):
    return {"tls": dovecot.tls_port, "plain": dovecot.port, "smtp": postfix.port}


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        pytest.param("imaps://localhost:1", connecting.NOT_LISTENING, id="nothing listens"),
        pytest.param("imaps://nowhere.invalid", connecting.NO_SUCH_NAME, id="no such name"),
        pytest.param("imaps://127.0.0.1:{tls}", connecting.WRONG_NAME, id="another name"),
        pytest.param("imaps://localhost:{plain}", connecting.NO_TLS, id="no TLS there"),
        pytest.param("imap://localhost:{smtp}", connecting.NOT_THE_PROTOCOL, id="another protocol"),
    ],
)
async def test_a_server_that_cannot_be_used_is_told_with_a_remedy(
    world, connect, ports, where, sentence
):
    created = await connect(baseUrl=where.format(**ports))

    ok, findings = await check(world, created)
    tested = await world.admin.post(f"/api/connections/{created.json()['id']}/test")

    assert ok is False
    remedy = connecting.REMEDIES[sentence]
    assert findings["credentials"] == ("failed", f"{sentence} {remedy}")
    assert (tested.json()["ok"], tested.json()["detail"]) == (False, sentence)


async def test_a_wrong_password_is_told_and_marks_nothing(world, connect):
    created = await connect(credentials={**LOGIN, "password": "wrong"})

    ok, findings = await check(world, created)

    assert ok is False
    assert findings["credentials"] == (
        "failed",
        "The mail server refused the user name or the password.",
    )
    stored = (await world.admin.get(f"/api/connections/{created.json()['id']}")).json()
    assert stored["status"] == "active"


async def test_an_unknown_authority_is_told(world, connect):
    import ssl

    patch = pytest.MonkeyPatch()
    patch.setattr("providers.imap.session.tls_context", ssl.create_default_context)
    with patch.context():
        ok, findings = await check(world, await connect())

    patch.undo()
    assert ok is False
    assert findings["credentials"][1].startswith(connecting.UNKNOWN_AUTHORITY)


class TestARefusedSubmission:
    """The server for outgoing mail refuses the login, and reading works."""

    @pytest.fixture
    async def connection(self, connect, postfix, monkeypatch):
        created = await connect(credentials={**LOGIN, "submissionUrl": postfix.url()})
        return created.json()

    @pytest.fixture
    async def client(self, world, connection):
        token = await world.token({"allowedEmailOperations": ["all"]})
        async with world.client(token) as client:
            yield client

    @pytest.fixture
    def refusing(self, monkeypatch):
        """Have logins for outgoing mail be those of nobody."""
        from providers.imap import submission

        real = submission.Submission.connect.__func__

        async def connect(cls, account, *, ends):
            from dataclasses import replace

            wrong = replace(account, password="wrong")
            return await real(cls, wrong, ends=ends)

        patch = pytest.MonkeyPatch()
        patch.setattr(submission.Submission, "connect", classmethod(connect))
        yield patch
        patch.undo()

    async def test_the_sender_and_the_operator_learn_of_it(
        self, world, client, connection, postfix, refusing
    ):
        url = f"/api/connections/{connection['id']}"
        before = postfix.deliveries()

        refused = await send(client, connection)
        page = await client.get(MESSAGES)
        marked = (await world.admin.get(url)).json()
        tested = (await world.admin.post(f"{url}/test")).json()
        _, findings = await check_again(world, connection)

        assert (refused.status_code, refused.json()["error"]) == (502, "SENDING_REFUSED")
        assert page.status_code == 200
        assert postfix.deliveries() == before
        assert (marked["status"], marked["statusDetail"]) == ("active", SENDING_REFUSED)
        assert (tested["ok"], tested["status"], tested["detail"]) == (
            False,
            "active",
            SENDING_REFUSED,
        )
        assert findings["credentials"][0] == "as-expected"
        assert findings["outgoing-mail"] == (
            "failed",
            "The submission server refused the user name or the password.",
        )

        refusing.undo()
        sent = await send(client, connection)
        mended = (await world.admin.get(url)).json()

        assert sent.status_code == 200, sent.text
        assert (mended["status"], mended["statusDetail"]) == ("active", None)


async def check_again(world, connection):
    answer = (await world.admin.post(f"/api/connections/{connection['id']}/check")).json()
    return answer["ok"], {
        finding["item"]: (finding["outcome"], finding["detail"]) for finding in answer["findings"]
    }


async def send(client, connection):
    body = {"to": [{"email": "ben@example.test"}], "subject": "x", "body": "x"}
    return await client.post(f"{MESSAGES}/send", json={**body, "connectionId": connection["id"]})


def test_doctor_tries_own_servers_as_far_as_the_login(tmp_path, dovecot, postfix):
    certificate = str(dovecot.certificate)
    run = CommandLine(tmp_path, AGW_ADMIN_TOKEN="a" * 20, SSL_CERT_FILE=certificate)
    run.set_up()
    add = ("connection", "add", "email", "IMAP", "ada@example.test", "--server", dovecot.url())
    added = run(*add, "--submission", postfix.url(), stdin="ada-secret\n")
    good = found(run("doctor", "--json"))
    run(*add[:-1], "imaps://nowhere.invalid", "--untested", stdin="ada-secret\n")
    bad = found(run("doctor", "--json"))

    assert added.returncode == 0, added.stderr
    assert good == {"name": "own servers", "outcome": "ok", "detail": "2 answer", "remedy": None}
    assert bad == {
        "name": "own servers",
        "outcome": "fail",
        "detail": f"imaps://nowhere.invalid: {connecting.NO_SUCH_NAME}",
        "remedy": connecting.REMEDIES[connecting.NO_SUCH_NAME],
    }


def found(doctor):
    (check,) = [
        check for check in json.loads(doctor.stdout)["checks"] if check["name"] == "own servers"
    ]
    return check


@pytest.fixture(autouse=True)
def _trusted(dovecot):
    patch = imap_account.trust(dovecot)
    yield
    patch.undo()
