"""
OAuth: docs/spec/upstream/oauth.md#endpoints.

    credentials      access tokens of connections, refreshed in time
    token_endpoint   authorization URLs and the token endpoint
    refused_grants   what the errors of token endpoints mean
    device_flow      the first step of the device flow
"""
