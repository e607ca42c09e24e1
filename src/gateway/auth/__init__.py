"""
Access tokens: their text, their storage, and the authentication of requests.

authenticator    from an Authorization header to a `policy.caller.Caller`
token_validity   whether a token is valid, and until when
token_queries    its queries
token_lookup     the database reads of every request
last_uses        the time of the last use of each token
token_format     the text of a token and its checksum
tokens           tokens as rows: create, change, rotate, revoke
token_status     active, revoked or expired
token_views      what is shown of a token
"""
