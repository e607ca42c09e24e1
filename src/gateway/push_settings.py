"""The settings of the providers' notifications (docs/spec/changes.md#notifications)."""

from typing import Self

import msgspec
from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from gateway.setting_types import BaseUrl

_OF_GMAIL = ("provider_a_push_topic", "provider_a_push_subscription", "provider_a_push_key")


class ServiceAccountKey(msgspec.Struct):
    """The file of a key that Google makes for a service account, as far as it is used."""

    client_email: str
    private_key: str
    private_key_id: str = ""


class PushSettings(BaseSettings):
    """By what the providers tell the deployment that something has changed."""

    provider_a_push_topic: str | None = Field(
        default=None,
        pattern=r"^projects/[a-z0-9.:-]{1,63}/topics/[A-Za-z][A-Za-z0-9._~+-]{2,254}$",
        description="Topic of Google Pub/Sub to which Gmail tells of changed mailboxes, as "
        "`projects/…/topics/…`. With the next two settings, mail wakes "
        "[streams and subscriptions](../spec/changes.md#notifications). Default: they poll.",
    )
    provider_a_push_subscription: str | None = Field(
        default=None,
        pattern=r"^projects/[a-z0-9.:-]{1,63}/subscriptions/[A-Za-z][A-Za-z0-9._~+-]{2,254}$",
        description="Subscription of that topic that the gateway pulls from, as "
        "`projects/…/subscriptions/…`. Each deployment needs one of its own.",
    )
    provider_a_push_key: SecretStr | None = Field(
        default=None,
        description="Key of a service account that may pull from the subscription: the text of "
        "the JSON file.",
    )
    provider_a_pubsub_url: BaseUrl = Field(
        default="https://pubsub.googleapis.com",
        description="Base URL of Google Pub/Sub, before `/v1`.",
    )

    provider_b_push: bool = Field(
        default=False,
        description="Whether Microsoft Graph tells of changed mailboxes and calendars: it calls "
        "`/notifications/…` of `AGW_PUBLIC_URL`, which must be reachable from the internet. "
        "Then they wake [streams and subscriptions](../spec/changes.md#notifications).",
    )

    @model_validator(mode="after")
    def _check_gmail(self) -> Self:
        missing = [f"AGW_{name.upper()}" for name in _OF_GMAIL if getattr(self, name) is None]
        if missing and len(missing) < len(_OF_GMAIL):
            raise ValueError(f"{', '.join(missing)} must be set too.")
        if self.provider_a_push_key is not None:
            self.push_key()
        return self

    @model_validator(mode="after")
    def _check_graph(self) -> Self:
        url = getattr(self, "public_url", None) or ""
        if self.provider_b_push and not url.startswith("https:") and not self._has_sandbox:
            raise ValueError("AGW_PROVIDER_B_PUSH needs an https URL in AGW_PUBLIC_URL.")
        return self

    @property
    def _has_sandbox(self) -> bool:
        return bool(getattr(self, "sandbox", False))

    @property
    def push_providers(self) -> frozenset[str]:
        """The providers that tell this deployment of changes."""
        by_setting = {
            "PROVIDER_A": self.provider_a_push_topic is not None,
            "PROVIDER_B": self.provider_b_push,
        }
        return frozenset(provider for provider, is_set in by_setting.items() if is_set)

    def push_key(self) -> ServiceAccountKey:
        """
        Read the key of the service account.

        Raises:
            ValueError: There is none, or it is not one.
        """
        from providers.oauth.delegation import private_key  # noqa: PLC0415 - few need it

        text = "" if self.provider_a_push_key is None else self.provider_a_push_key
        try:
            secret = text if isinstance(text, str) else text.get_secret_value()
            key = msgspec.json.decode(secret, type=ServiceAccountKey)
            private_key(key.private_key)
        except (msgspec.DecodeError, ValueError):
            raise ValueError(
                "AGW_PROVIDER_A_PUSH_KEY must be the JSON of a key of a service account, with "
                "client_email and private_key."
            ) from None
        return key
