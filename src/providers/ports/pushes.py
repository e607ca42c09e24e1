"""
Port of the notifications by which a provider tells that an account has changed.

They tell that, and not what: their receiver polls. See docs/spec/changes.md#notifications.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from providers.failures import ProviderFailure


class Lack(StrEnum):
    """The things whose lack keeps a provider from notifying; a value is the sentence."""

    TOPIC = "AGW_PROVIDER_A_PUSH_TOPIC names a topic that does not exist."
    TOPIC_REFUSED = (
        "Gmail refuses the topic of AGW_PROVIDER_A_PUSH_TOPIC: it must belong to the project of "
        "the connection's OAuth client or service account, and nobody else may watch the mailbox "
        "with this client."
    )
    TOPIC_RIGHT = (
        "gmail-api-push@system.gserviceaccount.com may not publish to the topic of "
        "AGW_PROVIDER_A_PUSH_TOPIC: grant it the role Pub/Sub Publisher there."
    )
    SUBSCRIPTION = "AGW_PROVIDER_A_PUSH_SUBSCRIPTION names a subscription that does not exist."
    SUBSCRIPTION_RIGHT = (
        "The service account of AGW_PROVIDER_A_PUSH_KEY may not pull from "
        "AGW_PROVIDER_A_PUSH_SUBSCRIPTION: grant it the role Pub/Sub Subscriber there."
    )
    SUBSCRIPTION_KIND = (
        "AGW_PROVIDER_A_PUSH_SUBSCRIPTION cannot be pulled from: its delivery type must be pull."
    )
    PUBLIC_URL = (
        "Microsoft Graph cannot call the paths below /notifications/ of AGW_PUBLIC_URL: they must "
        "be reachable from the internet by https, with a certificate that is trusted publicly."
    )
    SERVICE_ACCOUNT = (
        "Google refuses the key of AGW_PROVIDER_A_PUSH_KEY: it was deleted, or its service account "
        "was disabled."
    )


class CannotNotify(ProviderFailure):
    """The deployment lacks something, which its operator can mend."""

    def __init__(self, lack: Lack) -> None:
        super().__init__(lack.value)
        self.lack = lack


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """
    An agreement of a provider to tell of the changes of one account.

    Attributes:
        name: What it is renewed and ended by, at most 320 characters.
        mark: What each of its notifications has and others have not.
        ends_ms: Its end, in milliseconds since the epoch.
    """

    name: str
    mark: str
    ends_ms: int


class PushPort(Protocol):
    """
    The notifications of one account. Every method raises members of `providers.failures`.

    None of them changes content of the account.
    """

    async def register(self, receiver: str, mark: str) -> Registration:
        """
        Have *receiver* notified.

        *mark* is a secret for `Registration.mark`, where the provider returns what it was told.

        Raises:
            CannotNotify: The deployment lacks something.
        """

    async def renew(self, name: str) -> int:
        """
        Return the new end of a registration.

        Raises:
            Missing: There is no such registration any more.
            CannotNotify: The deployment lacks something.
        """

    async def end(self, name: str) -> None:
        """End a registration, or leave it ended."""
