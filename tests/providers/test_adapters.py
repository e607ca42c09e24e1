"""Every mail connector of the registry keeps the contract of its port."""

from mail_port_contract import *  # noqa: F403 - its tests are run from here
from mail_upstreams import ACCOUNTS

from providers.registry import MAIL_PROVIDERS


def test_every_provider_of_the_registry_is_tried():
    assert set(MAIL_PROVIDERS) == set(ACCOUNTS)
