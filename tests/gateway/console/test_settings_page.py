"""The page of settings names the few that matter for a deployment, and shows no secret."""

import pytest
from pydantic import SecretStr

from gateway.app import assemble
from gateway.operations.overviews.deployment import State, further_settings, settings_that_matter
from gateway.settings import Settings

SECRETS = {"admin_token": "a" * 16, "secret_keys": "k" * 16}
OF_ONE_PROCESS = ["AGW_ADMIN_TOKEN", "AGW_SECRET_KEYS", "AGW_PUBLIC_URL", "AGW_DATA_DIR"]
CLIENTS = ["AGW_PROVIDER_A_CLIENT_ID", "AGW_PROVIDER_B_CLIENT_ID"]


def states(**changed):
    listed = settings_that_matter(Settings(_env_file=None, **changed))
    return {setting.variable: setting.state for setting in listed}


def test_one_process_needs_two_secrets():
    listed = states()
    assert list(listed)[:4] == OF_ONE_PROCESS
    assert "AGW_REDIS_URL" not in listed
    assert {name for name, state in listed.items() if state is State.NEEDED} == {
        "AGW_ADMIN_TOKEN",
        "AGW_SECRET_KEYS",
    }
    assert State.NEEDED not in states(**SECRETS).values()


@pytest.mark.parametrize(
    ("changed", "needed"),
    [
        ({"host": "0.0.0.0"}, {"AGW_PUBLIC_URL"}),
        ({"workers": 2}, {"AGW_REDIS_URL"}),
        ({"processes": 2}, {"AGW_REDIS_URL", "AGW_DATABASE_URL"}),
        ({"workers": 2, "redis_url": "redis://127.0.0.1"}, set()),
    ],
)
def test_a_larger_deployment_needs_more(changed, needed):
    listed = states(**SECRETS, **changed)

    assert {name for name, state in listed.items() if state is State.NEEDED} == needed


def test_named_admin_tokens_stand_for_the_one_without_a_name():
    listed = states(admin_tokens="ana:" + "a" * 16, secret_keys="k" * 16)

    assert listed["AGW_ADMIN_TOKENS"] is State.SET
    assert "AGW_ADMIN_TOKEN" not in listed


def test_clients_of_vendors_are_named_but_on_the_sandbox():
    assert set(CLIENTS) <= set(states())
    assert not set(CLIENTS) & set(states(sandbox=True))


def test_of_all_others_those_that_are_set_are_named(monkeypatch):
    monkeypatch.delenv("AGW_DRAIN_SECONDS")  # which the tests set
    changed, hidden = further_settings(Settings(_env_file=None, log_level="debug", workers=2))

    assert changed == ["AGW_LOG_LEVEL"]
    assert hidden == len(Settings.model_fields) - 8 - 1


@pytest.mark.asyncio(loop_scope="module")
async def test_the_page_shows_no_secret(settings, browser_of):
    database = SecretStr(settings.database)
    shown = settings.model_copy(update={"database_url": database})
    async with assemble(shown).running() as gateway:
        browser = browser_of(gateway)
        await browser.sign_in()
        first = await browser.open("/console/")
        page = await browser.open("/console/settings")

    assert "First steps" in first.text
    assert "AGW_SECRET_KEYS" in page.text
    assert "AGW_REDIS_URL" not in page.text
    assert settings.secret_keys.get_secret_value() not in page.text
    assert settings.database not in page.text
