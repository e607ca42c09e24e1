"""
Authorization servers of the sandbox: authorize, token, revocation and device endpoints.

    routes                the handler below ``/oauth``
    authorization_server  what all servers share: client authentication, redemption of codes
    consent               the authorize endpoint and its consent page
    authorization_codes   authorization codes, each good for one use
    clients               registered clients: secrets and redirect URIs
    tokens                access and refresh tokens
    identity_tokens       identity tokens (JWT) and the key set that verifies them
    service_accounts      service accounts, and the delegation of a domain to them
    device_flow           the device flow (RFC 8628)
    provider_a            provider A's server
    provider_b            the server of provider B and the collaboration content
    task_providers        the servers of boards and projects
"""
