"""
OAuth: docs/spec/upstream/oauth.md#endpoints.

    credentials      access tokens of connections, refreshed in time
    token_endpoint   authorization URLs and the token endpoint
    refused_grants   what the errors of token endpoints mean
    delegation       tokens of a person for a service account of the person's domain
    device_flow      the first step of the device flow
"""
