"""
Connected accounts: their rows, credentials and health, and OAuth consent.

    rows             rows of connections, with sealed credentials
    shared           connections that use the credentials of another one
    accounts         opens the provider connectors that a caller may use
    logins           logins at own servers
    credentials      credentials of the HTTP layer, read from rows and renewed
    token_endpoints  token and authorization endpoints per provider
    oauth_servers    scopes and parameters of the consent pages
    oauth_flow       consent from the authorization URL to stored tokens
    oauth_pages      the pages that people see during consent
    revocation       revokes the consent of a removed connection at its provider
    expiry           when credentials end
    one_time_links   one-time links with which a person renews an account
    reconnect_links  signed links with which a person reconnects an account
    health           time of the last successful call (`lastOkAt`)
    recheck          periodic tests of connections that do not work
"""
