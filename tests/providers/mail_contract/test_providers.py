"""Every mail connector that the sandbox imitates keeps the contract of its port."""

from mail_upstreams import ACCOUNTS

from graph.emails.enums import MailProvider

ON_REAL_SERVERS = {"IMAP"}  # tests/providers/connectors/imap


def test_every_mail_provider_of_the_schema_is_tried():
    assert {provider.name for provider in MailProvider} == {*ACCOUNTS, *ON_REAL_SERVERS}
