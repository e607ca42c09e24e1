"""Settings come from AGW_ variables, with defaults that are safe."""

import pytest
from pydantic import ValidationError

from gateway.settings import NotConfigured, Settings

SECRETS = {"AGW_ADMIN_TOKEN": "a" * 16, "AGW_SECRET_KEYS": "k" * 32}


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("AGW_ADMIN_TOKEN", "AGW_SECRET_KEYS"):
        monkeypatch.delenv(name, raising=False)


def test_the_defaults_are_closed():
    settings = Settings()

    assert settings.host == "127.0.0.1"
    assert settings.proxies == ()
    assert settings.sandbox is False
    assert settings.internal_enabled is False
    assert settings.rate_limits == "on"
    assert settings.database == "sqlite+aiosqlite:///data/gateway.db"
    assert settings.base_url == "http://127.0.0.1:8000"


def test_lists_are_comma_separated(monkeypatch):
    monkeypatch.setenv("AGW_TRUSTED_PROXIES", "10.0.0.1, 192.168.0.0/16")
    monkeypatch.setenv(
        "AGW_ALLOWED_UPSTREAM_HOSTS", "Upstream.example:8443,other.example,http://plain.example"
    )
    settings = Settings()

    assert [str(network) for network in settings.proxies] == ["10.0.0.1/32", "192.168.0.0/16"]
    assert settings.upstream_origins > {
        "https://upstream.example:8443",
        "https://other.example:443",
        "http://plain.example:80",
    }


@pytest.mark.parametrize(
    ("variables", "graph", "login"),
    [
        ({}, "https://graph.microsoft.com", "https://login.microsoftonline.com"),
        (
            {"AGW_PROVIDER_B_CLOUD": "us_government"},
            "https://graph.microsoft.us",
            "https://login.microsoftonline.us",
        ),
        (
            {"AGW_PROVIDER_B_CLOUD": "china", "AGW_OAUTH_B_URL": "https://login.example"},
            "https://microsoftgraph.chinacloudapi.cn",
            "https://login.example",
        ),
    ],
    ids=["worldwide", "a national cloud", "a national cloud and a URL of its own"],
)
def test_a_national_cloud_is_one_setting(monkeypatch, variables, graph, login):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = Settings()

    assert {settings.upstreams["email", "PROVIDER_B"], settings.collab_url} == {graph}
    assert settings.oauth_b_url == login


def test_an_unknown_cloud_is_refused():
    with pytest.raises(ValidationError, match="provider_b_cloud"):
        Settings(provider_b_cloud="mars")


@pytest.mark.parametrize(
    ("text", "sent"),
    [("NONISV|Me|agw/1 (gzip)", "NONISV|Me|agw/1 (gzip)"), ("me/1", "me/1 (gzip)")],
)
def test_the_user_agent_names_gzip(text, sent):
    assert Settings(user_agent=text).user_agent == sent


@pytest.mark.parametrize("text", ["a\r\nx: y", "é", "a" * 201])
def test_a_user_agent_that_no_header_can_hold_is_refused(text):
    with pytest.raises(ValidationError, match="user_agent"):
        Settings(user_agent=text)


def test_windows_are_json(monkeypatch):
    monkeypatch.setenv("AGW_RATE_LIMIT_WINDOWS", '{"email": [[5, 10]]}')

    assert Settings().rate_limit_windows == {"email": ((5, 10),)}


def test_a_file_is_read_and_the_environment_wins(monkeypatch, tmp_path):
    (tmp_path / ".env").write_text("AGW_PORT=9000\nAGW_HOST=::1\nOTHER=1\n")
    monkeypatch.setenv("AGW_PORT", "9001")

    assert Settings().base_url == "http://[::1]:9001"
    assert Settings().origin == "http://[::1]:9001"


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://gateway.example/", "https://gateway.example:443"),
        ("http://gateway.example", "http://gateway.example:80"),
        ("https://gateway.example:8443/agw", "https://gateway.example:8443"),
    ],
)
def test_the_origin_has_its_port(url, origin):
    assert Settings(public_url=url).origin == origin


def test_sandbox_upstreams_lie_under_the_base_url():
    upstreams = Settings(sandbox=True, public_url="http://g.example").upstreams

    assert upstreams["email", "PROVIDER_A"] == "http://g.example/sandbox/provider-a"
    assert upstreams["tasks", "BOARDS"] == "http://g.example/sandbox/tasks"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AGW_TRUSTED_PROXIES", "everybody"),
        ("AGW_PROVIDER_A_URL", "ftp://x.example"),
        ("AGW_COLLAB_URL", "https://x.example/?a=b"),
        ("AGW_RATE_LIMITS", "sometimes"),
        ("AGW_PORT", "70000"),
        ("AGW_WORKERS", "0"),
    ],
)
def test_an_invalid_setting_is_an_error(monkeypatch, name, value):
    monkeypatch.setenv(name, value)

    with pytest.raises(ValidationError):
        Settings()


@pytest.mark.parametrize(
    ("secrets", "missing"),
    [
        pytest.param({}, "AGW_ADMIN_TOKEN", id="neither"),
        pytest.param({"AGW_ADMIN_TOKEN": ""}, "AGW_ADMIN_TOKEN", id="an empty admin token"),
        pytest.param({"AGW_ADMIN_TOKEN": "short"}, "AGW_ADMIN_TOKEN", id="a short admin token"),
        pytest.param({"AGW_ADMIN_TOKEN": "a" * 16}, "AGW_SECRET_KEYS", id="no keys"),
        pytest.param(
            {
                "AGW_ADMIN_TOKEN": "a" * 16,
                "AGW_SECRET_KEYS": "k" * 16,
                "AGW_METRICS_TOKEN": "short",
            },
            "AGW_METRICS_TOKEN",
            id="a short metrics token",
        ),
    ],
)
def test_serving_needs_secrets(monkeypatch, secrets, missing):
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(NotConfigured, match=missing):
        Settings().ready_to_serve()


ADA, BEN = "a" * 16, "b" * 16


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"ada:{ADA}", {ADA: "ada"}),
        (f"ada:{ADA}, ben@example.org:{BEN},", {ADA: "ada", BEN: "ben@example.org"}),
        (f"ada:{ADA}:x", {f"{ADA}:x": "ada"}),
    ],
)
def test_admin_tokens_have_names(monkeypatch, text, names):
    monkeypatch.setenv("AGW_SECRET_KEYS", SECRETS["AGW_SECRET_KEYS"])
    monkeypatch.setenv("AGW_ADMIN_TOKENS", text)

    assert Settings().ready_to_serve().admins == names
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "c" * 16)
    assert Settings().ready_to_serve().admins == {"c" * 16: "admin", **names}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(ADA, "must be name:token", id="no name"),
        pytest.param(f"a b:{ADA}", "must be name:token", id="a blank in a name"),
        pytest.param(f":{ADA}", "must be name:token", id="an empty name"),
        pytest.param("ada:short", "at least 16 characters", id="a short token"),
        pytest.param(f"ada:{ADA},ada:{BEN}", "twice", id="a name twice"),
        pytest.param(f"ada:{ADA},ben:{ADA}", "twice", id="a token twice"),
        pytest.param(f"admin:{ADA}", "twice", id="the name of the other variable"),
        pytest.param(f"ada:{'k' * 32}", "twice", id="the token of the other variable"),
    ],
)
def test_admin_tokens_that_tell_nobody_apart_are_refused(monkeypatch, text, message):
    monkeypatch.setenv("AGW_ADMIN_TOKEN", "k" * 32)
    monkeypatch.setenv("AGW_SECRET_KEYS", SECRETS["AGW_SECRET_KEYS"])
    monkeypatch.setenv("AGW_ADMIN_TOKENS", text)

    with pytest.raises(NotConfigured, match=message) as refused:
        Settings().ready_to_serve()
    assert ADA not in str(refused.value)


def test_secrets_do_not_show(monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    settings = Settings().ready_to_serve()

    assert "aaaa" not in repr(settings)
    assert "kkkk" not in repr(settings)


def test_every_setting_is_described():
    for name, field in Settings.model_fields.items():
        assert field.description, name


def test_urls_with_passwords_are_not_printed(monkeypatch):
    monkeypatch.setenv(
        "AGW_DATABASE_URL", "postgresql+asyncpg://gateway:hunter2@db.example/gateway"
    )
    monkeypatch.setenv("AGW_REDIS_URL", "redis://:hunter2@redis.example:6379/0")
    settings = Settings()

    assert "hunter2" not in f"{settings} {settings!r} {settings.model_dump()}"
    assert settings.database == "postgresql+asyncpg://gateway:hunter2@db.example/gateway"
    assert settings.redis_url.get_secret_value() == "redis://:hunter2@redis.example:6379/0"
