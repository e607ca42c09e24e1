"""A gateway that Gmail notifies, over the small world, and streams that follow its mailbox."""

import json
from types import SimpleNamespace

import calendar_world
import pytest
import world as worlds
from calendar_world import at, meeting
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from push_world import deliver

from gateway.feeds import wakes
from gateway.feeds.push import holds
from gateway.settings import Settings
from gateway.store.clock import DatabaseClock
from sandbox.oauth.service_accounts import ServiceAccounts
from sandbox.provider_a.topics import PROJECT, Topics
from sandbox.provider_b.subscriptions import Subscriptions

ROBOT = "robot@sandbox-project.iam.gserviceaccount.com"


@pytest.fixture(scope="session")
def robot_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="session")
def key_file(robot_key):
    """The file of the key, as Google makes it."""
    pem = robot_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    content = {"type": "service_account", "client_email": ROBOT, "private_key": pem.decode()}
    return json.dumps({**content, "private_key_id": "k1"})


@pytest.fixture
def push_settings(key_file):
    return {
        "provider_a_push_topic": f"projects/{PROJECT}/topics/mail",
        "provider_a_push_subscription": f"projects/{PROJECT}/subscriptions/gateway",
        "provider_a_push_key": Settings(
            _env_file=None,
            provider_a_push_topic=f"projects/{PROJECT}/topics/mail",
            provider_a_push_subscription=f"projects/{PROJECT}/subscriptions/gateway",
            provider_a_push_key=key_file,
        ).provider_a_push_key,
    }


@pytest.fixture
def soon(monkeypatch):
    """Let nothing rest for long."""
    monkeypatch.setattr(wakes, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(wakes, "REFRESH_SECONDS", 0.0)
    monkeypatch.setattr(wakes, "WAIT_SECONDS", 0.2)
    monkeypatch.setattr(wakes, "SPACING_SECONDS", 0.2)
    monkeypatch.setattr(holds, "SWEEP_SECONDS", 0.1)
    monkeypatch.setattr(holds, "ABANDONED_MS", 300)
    monkeypatch.setattr(DatabaseClock, "is_trusted", True)


@pytest.fixture
async def pushed(world_template, tmp_path, push_settings, robot_key, soon):
    """The world, with the topic and the rights that Gmail needs."""
    folder, known = world_template
    async with worlds.opened(folder, known, tmp_path / "pushed", **push_settings) as world:
        yield arranged(world, robot_key)


@pytest.fixture
async def called(world_template, tmp_path, soon):
    """The world, which Microsoft Graph calls."""
    folder, known = world_template
    path = tmp_path / "called"
    async with worlds.opened(folder, known, path, provider_b_push=True) as world:
        graph = GraphCalls(world)
        yield SimpleNamespace(
            world=world,
            client=world.client,
            services=world.gateway.services,
            sandbox=world.sandbox,
            graph=graph,
        )
        graph.stop()


class GraphCalls:
    """The calls of the sandbox's Graph to the gateway, and what it was answered."""

    def __init__(self, world):
        self.world, self.is_reachable, self.answers = world, True, []
        self.subscriptions = Subscriptions(world.sandbox.state)
        world.sandbox.state.outbound.send = self.send

    async def send(self, url, kind, body, _seconds):
        if not self.is_reachable:
            raise OSError("unreachable")
        async with self.world.called_from("20.20.32.1").client() as client:
            answer = await client.post(url, content=body, headers={"content-type": kind})
        self.answers.append((answer.status_code, answer.headers.get("content-type")))
        return answer.status_code, answer.headers.get("content-type", ""), answer.content

    def stop(self):
        for task in self.world.sandbox.state.outbound.tasks.values():
            task.cancel()


def arranged(world, robot_key):
    """Return the world with what the operator makes in the console of Google."""
    public = robot_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    database = world.sandbox.state.database
    ServiceAccounts(database).register(ROBOT, public.decode(), [])
    topics = Topics(database)
    topics.create("mail", "gateway", consumer=ROBOT)
    return SimpleNamespace(
        world=world,
        client=world.client,
        topics=topics,
        services=world.gateway.services,
        sandbox=world.sandbox,
    )


@pytest.fixture
async def accounts(called):
    """The connections of one Microsoft account, by kind, and its calendars."""
    called.agendas = await calendar_world.opened(called.world)
    calendar = called.agendas.connections["PROVIDER_B"]
    return {"email": called.world.connections["PROVIDER_B"], "calendar": calendar}


@pytest.fixture(params=["email", "calendar"])
def kind(request):
    return request.param


@pytest.fixture
def outlook(accounts, kind):
    return accounts[kind]


@pytest.fixture
def caller(called, outlook):
    """Make a token of mail or calendars of provider B, or of several connections."""

    async def made(*connections):
        allowed = {"allowedConnectionIds": [*connections] or [outlook]}
        return await called.world.token({"calendarAccessEnabled": True, **allowed})

    return made


@pytest.fixture
def happen(called, kind):
    """Let a mail arrive, or a person enter an event in a calendar that is not the default one."""

    def happening(of=kind):
        if of == "email":
            return deliver(called, "New", "provider-b")
        return called.agendas.plant("club", "new", meeting(at(1, "09:00"), at(1, "10:00"), "New"))

    return happening


@pytest.fixture
def token(pushed):
    """Make a token of one mailbox of provider A."""

    async def made(connection=None, **settings):
        connections = [connection or pushed.world.connections["PROVIDER_A"]]
        resources = (worlds.MAIN, worlds.READ_ONLY)
        settings = {"allowedConnectionIds": connections, **settings}
        return await pushed.world.token(settings, resources=resources)

    return made
