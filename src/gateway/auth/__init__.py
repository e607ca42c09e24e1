"""
Access tokens: their text, their storage, and the authentication of requests.

authenticator    from an Authorization header to a `policy.caller.Caller`
token_lookup     the database reads of every request
token_format     the text of a token and its checksum
tokens           tokens as rows: create, change, rotate, revoke
"""
