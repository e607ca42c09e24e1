"""The settings of the process: environment variables with the prefix `AGW_`, or a `.env` file."""

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from gateway.provider_settings import Cloud, client_of, cloud_urls, upstream_urls
from gateway.setting_types import (
    BaseUrl,
    ClientSecret,
    DnsServer,
    Networks,
    UserAgent,
    Words,
    named_tokens,
    origin_of,
)
from gateway.sign_in_settings import SignInSettings

MIN_ADMIN_TOKEN = 16  # characters


class NotConfigured(Exception):
    """A setting that the command needs is missing or too weak."""


class Settings(SignInSettings):
    """The settings table; `docs/reference/settings.md` is made from these descriptions."""

    model_config = SettingsConfigDict(
        env_prefix="AGW_", env_file=".env", extra="ignore", frozen=True, env_ignore_empty=True
    )

    data_dir: Path = Field(
        default=Path("data"), description="Folder of the embedded database and the sandbox."
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="Where everything is kept. Default: the SQLite file `gateway.db` in the data "
        "folder; `postgresql+asyncpg://…` when several machines serve.",
    )
    database_connections: int = Field(
        default=15,
        ge=2,
        le=1000,
        description="How many connections a process opens to PostgreSQL at most, a third of them "
        "for the reads of requests. The server needs room for processes times this number.",
    )
    database_pooler: Literal["session", "transaction"] = Field(
        default="session",
        description="How connections reach PostgreSQL: `session` directly, or through a pooler in "
        "session mode; `transaction` through a pooler in transaction mode, such as PgBouncer's.",
    )
    redis_url: SecretStr | None = Field(
        default=None,
        description="Redis for the rate limits, and the concurrent upstream calls of an account, "
        "that several processes share. Default: counted in each process.",
    )
    redis_prefix: str | None = Field(
        default=None,
        max_length=64,
        pattern=r"^[A-Za-z0-9._:-]+$",
        description="Begins the keys in Redis, so that deployments on one Redis count apart. "
        "Default: random, stored in the database when its tables are created.",
    )
    admin_token: SecretStr | None = Field(
        default=None,
        description="Bearer credential of the management API, at least 16 characters. Required by "
        "`serve`, unless there are `AGW_ADMIN_TOKENS`. Its name in the decision log is `admin`.",
    )
    admin_tokens: SecretStr | None = Field(
        default=None,
        description="Admin tokens with names, as `name:token`, comma-separated: each as good as "
        "`AGW_ADMIN_TOKEN`, and its name is in the decision log beside what it changed. Names have "
        "letters, digits and `._@-`; 64 characters at most.",
    )
    secret_keys: SecretStr | None = Field(
        default=None,
        description="Comma-separated secrets, each at least 16 characters: the first seals "
        "credentials and page tokens, the others only open what they sealed. Required by `serve` "
        "and by commands that work on the store.",
    )
    host: str = Field(default="127.0.0.1", description="Address to listen on.")
    port: int = Field(default=8000, ge=0, le=65535, description="Port to listen on; 0: any free.")
    admin_host: str = Field(
        default="127.0.0.1", description="Address of the listener that `AGW_ADMIN_PORT` opens."
    )
    admin_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="Port of a listener for the management API and `/metrics`, which the other "
        "listener then answers with 404; 0: any free. Default: one listener serves all.",
    )
    drain_seconds: float = Field(
        default=5.0,
        ge=0.0,
        le=600.0,
        description="How long `serve` goes on answering after SIGTERM, with `/readyz` 503, so that "
        "load balancers notice it; then it stops.",
    )
    stop_seconds: int = Field(
        default=60,
        ge=1,
        le=3600,
        description="How long running requests may take after that, before they are cut off.",
    )
    migrate: bool = Field(
        default=True,
        description="Whether `serve` brings the database to the newest version; with false, "
        "`access-gateway db upgrade` is a step of its own.",
    )
    workers: int = Field(default=1, ge=1, le=64, description="How many processes serve.")
    processes: int | None = Field(
        default=None,
        ge=1,
        description="How many processes serve on all machines together: while Redis is lost, each "
        "allows that part of every rate limit. Default: the workers of this machine.",
    )
    max_connections: int = Field(
        default=1000,
        ge=10,
        description="How many connections a worker holds; when it is full, the one that has been "
        "silent for longest makes room.",
    )
    max_connections_per_address: int = Field(
        default=100,
        ge=1,
        description="How many of them one address may have. Trusted proxies and this machine may "
        "have more.",
    )
    max_active: int = Field(
        default=32,
        ge=1,
        description="How many requests a busy worker answers at the same time; eight times as many "
        "while they mostly wait for upstream. One caller has a tenth of them at most.",
    )
    max_queued: int = Field(
        default=512,
        ge=0,
        description="How many more wait for their turn, 0.4 seconds at most; beyond either, the "
        "response is 503 `OVERLOADED`. One caller has a tenth of the places at most.",
    )
    public_url: str | None = Field(
        default=None,
        description="Base URL under which clients reach the service, for links in responses. "
        "Default: made from host and port.",
    )
    trusted_proxies: Networks = Field(
        default=(),
        description="Comma-separated addresses or networks of reverse proxies whose "
        "`X-Forwarded-For` is believed. Default: nobody's.",
    )
    provider_a_url: BaseUrl = Field(
        default="https://gmail.googleapis.com",
        description="Base URL of provider A's mail, before `/gmail/v1`.",
    )
    provider_a_calendar_url: BaseUrl = Field(
        default="https://www.googleapis.com",
        description="Base URL of provider A's calendars, before `/calendar/v3`.",
    )
    provider_a_people_url: BaseUrl = Field(
        default="https://people.googleapis.com",
        description="Base URL of provider A's contacts and directory, before `/v1`.",
    )
    provider_b_url: BaseUrl = Field(
        default="https://graph.microsoft.com",
        description="Base URL of provider B's mail and calendars, before `/v1.0`.",
    )
    collab_url: BaseUrl = Field(
        default="https://graph.microsoft.com",
        description="Base URL of the collaboration content, before `/v1.0`.",
    )
    tasks_url: BaseUrl = Field(
        default="https://api.monday.com", description="Base URL of the task boards, before `/v2`."
    )
    projects_url: BaseUrl = Field(
        default="https://app.asana.com",
        description="Base URL of the task projects, before `/api/1.0`.",
    )
    oauth_a_url: BaseUrl = Field(
        default="https://oauth2.googleapis.com/token", description="Token endpoint of provider A."
    )
    oauth_b_url: BaseUrl = Field(
        default="https://login.microsoftonline.com",
        description="Login service of provider B and the collaboration content, before the tenant.",
    )
    oauth_tasks_url: BaseUrl = Field(
        default="https://auth.monday.com/oauth_ms/oauth/token",
        description="Token endpoint of the task boards.",
    )
    oauth_projects_url: BaseUrl = Field(
        default="https://app.asana.com/-/oauth_token",
        description="Token endpoint of the task projects.",
    )
    oauth_a_authorize_url: BaseUrl = Field(
        default="https://accounts.google.com/o/oauth2/v2/auth",
        description="Consent page of provider A.",
    )
    oauth_tasks_authorize_url: BaseUrl = Field(
        default="https://auth.monday.com/oauth2/authorize",
        description="Consent page of the task boards.",
    )
    oauth_projects_authorize_url: BaseUrl = Field(
        default="https://app.asana.com/-/oauth_authorize",
        description="Consent page of the task projects.",
    )
    provider_b_cloud: Cloud = Field(
        default="worldwide",
        description="Microsoft's cloud of provider B and the collaboration content: it decides the "
        "defaults of their base URLs and of their login service.",
    )
    provider_b_tenant: str = Field(
        default="common",
        description="Tenant of provider B and the collaboration content that accounts are "
        "connected in: an id, a domain, `organizations` or `common`.",
    )
    provider_a_client_id: str | None = Field(
        default=None, description="This deployment's OAuth client at provider A."
    )
    provider_a_client_secret: ClientSecret = None
    provider_b_client_id: str | None = Field(
        default=None,
        description="This deployment's OAuth client at provider B and the collaboration content.",
    )
    provider_b_client_secret: ClientSecret = None
    tasks_client_id: str | None = Field(
        default=None, description="This deployment's OAuth client at the task boards."
    )
    tasks_client_secret: ClientSecret = None
    projects_client_id: str | None = Field(
        default=None, description="This deployment's OAuth client at the task projects."
    )
    projects_client_secret: ClientSecret = None
    allowed_upstream_hosts: Words = Field(
        default=(),
        description="Comma-separated hosts (`host` or `host:port`) that a connection's `baseUrl` "
        "may name over https, besides the hosts of the base URLs above under their own scheme. "
        "`http://host:port` allows a host without TLS.",
    )
    dns_server: DnsServer = Field(
        default="",
        description="IP address, perhaps with a port, of the DNS server that searches for mail "
        "and calendar servers ask. Default: the system's.",
    )
    user_agent: UserAgent = Field(
        default="access-gateway (gzip)",
        description="`User-Agent` of upstream calls; ` (gzip)` is added to one without that word, "
        "because Google compresses nothing otherwise.",
    )
    strict_parameters: bool = Field(
        default=False,
        description="Whether unknown query parameters of the surfaces are 400 for every token; "
        "otherwise for those with `strictParameters`, and with `Prefer: handling=strict`.",
    )
    rate_limits: Literal["on", "off"] = Field(
        default="on", description="`off` takes every rate limit away, for load tests."
    )
    rate_limit_windows: Mapping[str, tuple[tuple[int, int], ...]] = Field(
        default_factory=dict,
        description="Rate limits that differ from the built-in ones, as JSON: bucket to "
        'requests per seconds, such as `{"email": [[60, 60], [300, 3600]]}`. Buckets: email, '
        "calendar, tasks, collab, management, graphql.",
    )
    sandbox: bool = Field(
        default=False,
        description="Mount the sandbox upstreams at `/sandbox` and send all connections there.",
    )
    internal_enabled: bool = Field(
        default=False, description="Serve the collaboration content also under `/internal`."
    )
    agents_structured_content: bool = Field(
        default=False, description="Whether results of agents' tools have `structuredContent` too."
    )
    not_found_step_ms: int = Field(
        default=50,
        ge=0,
        description="A 404 of a surface waits for the next multiple of this many milliseconds "
        "after the start of its request, and up to as many more at random, so that its time does "
        "not tell blocked things from missing ones; 0: no wait.",
    )
    decision_days: int = Field(
        default=30,
        ge=0,
        description="For how many days the decision log is kept; 0: none is written.",
    )
    provider_error_days: int = Field(
        default=30,
        ge=0,
        description="For how many days the texts of providers' refusals and failures are kept, "
        "encrypted; administrators read them by request id. 0: none is kept.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least severe log line that is written."
    )
    metrics_token: SecretStr | None = Field(
        default=None,
        description="Bearer of `/metrics` besides the admin token, at least 16 characters.",
    )
    traces_endpoint: BaseUrl | None = Field(
        default=None,
        description="Base URL of an OpenTelemetry collector that takes OTLP over HTTP, such as "
        "`http://127.0.0.1:4318`. Needs the extra `traces`. Default: no traces.",
    )
    traces_share: float = Field(
        default=1.0,
        ge=0.0,
        le=1.0,
        description="Which part of the traces that begin here is recorded.",
    )
    log_format: Literal["json", "console"] = Field(
        default="json", description="How log lines are written to standard error."
    )

    @model_validator(mode="before")
    @classmethod
    def _fill_cloud_urls(cls, values: dict[str, object]) -> dict[str, object]:
        return {**cloud_urls(values.get("provider_b_cloud")), **values}

    @property
    def database(self) -> str:
        """The database URL with its default filled in; it may hold a password."""
        if self.database_url:
            return self.database_url.get_secret_value()
        return f"sqlite+aiosqlite:///{self.data_dir / 'gateway.db'}"

    @property
    def limiting_processes(self) -> int:
        """The number of processes that share the rate limits."""
        return self.processes or self.workers

    @property
    def base_url(self) -> str:
        """The public base URL with its default filled in, without a trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The origin of the base URL, with its port spelled out."""
        return origin_of(self.base_url)

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The trusted proxies as networks."""
        return tuple(ip_network(network, strict=False) for network in self.trusted_proxies)

    @property
    def upstreams(self) -> Mapping[tuple[str, str], str]:
        """Base URL per (kind, provider)."""
        return upstream_urls(self.__getattribute__)

    def oauth_client(self, provider: str) -> tuple[str | None, str | None]:
        """Return id and secret of this deployment's OAuth client at *provider*, as far as set."""
        return client_of(self.__getattribute__, provider)

    @property
    def upstream_origins(self) -> frozenset[str]:
        """The `scheme://host:port` of every upstream that connections may use."""
        hosts = self.allowed_upstream_hosts
        allowed = (host if "://" in host else f"https://{host}" for host in hosts)
        return frozenset(origin_of(url) for url in (*self.upstreams.values(), *allowed))

    @property
    def admins(self) -> Mapping[str, str]:
        """Admin token -> its name; `NotConfigured` as `setting_types.named_tokens` refuses."""
        try:
            return named_tokens(self.admin_token, self.admin_tokens, shortest=MIN_ADMIN_TOKEN)
        except ValueError as problem:
            raise NotConfigured(str(problem)) from None

    def ready_to_serve(self) -> Self:
        """
        Check the settings that serving needs.

        Raises:
            NotConfigured: No admin token or secret keys, or they cannot be used or are not safe.
        """
        if not self.admins:
            raise NotConfigured(
                f"AGW_ADMIN_TOKEN is needed: a secret of at least {MIN_ADMIN_TOKEN} characters."
            )
        self.ready_to_open()
        if self.metrics_token and len(self.metrics_token.get_secret_value()) < MIN_ADMIN_TOKEN:
            raise NotConfigured(
                f"AGW_METRICS_TOKEN must be a secret of at least {MIN_ADMIN_TOKEN} characters."
            )
        return self

    def ready_to_open(self) -> Self:
        """Check what every access to the store needs; `NotConfigured`: no secret keys."""
        if not self.secret_keys or not self.secret_keys.get_secret_value().strip():
            raise NotConfigured("AGW_SECRET_KEYS is needed; `access-gateway secret new` makes one.")
        return self
