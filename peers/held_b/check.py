"""
List, open and send drafts of the gateway with Microsoft Graph's unchanged Python client.

What is opened and sent must be the message that the same call sends in direct mode.
"""

import asyncio
from pathlib import Path

from kiota_abstractions.authentication import (
    AccessTokenProvider,
    AllowedHostsValidator,
    BaseBearerTokenAuthenticationProvider,
)
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphRequestAdapter, GraphServiceClient
from msgraph.graph_request_adapter import options
from msgraph_core import GraphClientFactory
from same_mail import content_of
from serving import served


class Static(AccessTokenProvider):
    """Provider of one token."""

    def __init__(self, token):
        self._token = token

    async def get_authorization_token(self, uri, additional_authentication_context=None):
        del uri, additional_authentication_context
        return self._token

    def get_allowed_hosts_validator(self):
        return AllowedHostsValidator([])


def client_of(base, token):
    provider = BaseBearerTokenAuthenticationProvider(Static(token))
    http = GraphClientFactory.create_with_default_middleware(options=options)
    adapter = GraphRequestAdapter(provider, client=http)
    adapter.base_url = f"{base}/v1.0"
    return GraphServiceClient(request_adapter=adapter)


def immutable_ids():
    configuration = RequestConfiguration()
    configuration.headers.add("Prefer", 'IdType="ImmutableId"')
    return configuration


async def read(client, message_id):
    message = client.me.messages.by_message_id(message_id)
    read_message = await message.get(immutable_ids())
    content = content_of(await message.content.get(immutable_ids()))
    return content, read_message.conversation_id, read_message.is_draft


def without_sender(content):
    """A draft has none before it is sent."""
    headers, parts = content
    return [header for header in headers if header[0] != "From"], parts


async def main():
    with served(Path(__file__).with_name("seed.py")) as facts:
        client = client_of(f"{facts['url']}/provider-b", facts["token"])
        drafts = client.me.mail_folders.by_mail_folder_id("drafts").messages
        assert len((await drafts.get()).value) == len(facts["pairs"]) == 9
        for kind, (direct, held) in facts["pairs"].items():
            opened, _, was_draft = await read(client, held)
            await client.me.messages.by_message_id(held).send.post(immutable_ids())
            content, thread, is_draft = await read(client, held)
            expected, expected_thread, _ = await read(client, direct)
            assert (was_draft, is_draft) == (True, False), kind
            assert opened == without_sender(expected), (kind, opened, expected)
            assert content == expected, (kind, content, expected)
            assert (thread == expected_thread) is not kind.startswith("send"), kind
        assert (await drafts.get()).value == []
    print(f"provider B: {len(facts['pairs'])} drafts opened and sent, each as a direct send")


asyncio.run(main())
