"""
The commands, one module per command or group; each imports what it needs when it runs.

    serve, demo, sandbox, seed  the gateway, the demo, the sandbox upstreams, invented accounts
    doctor                      checks of settings, database, Redis, clocks, accounts, upstreams
    token, rule, policy         access tokens, their collab rules, and both as one document
    document                    documents saved as REST endpoints
    client                      applications that people sign in, and one-time links
    write                       held writes, and the people who release them
    recipient                   the recipient rules of tokens, a part of `rule`
    people, connection, connection_add
                                operators, resources, connected accounts
    explain, decisions          why a call is refused, and what was decided on calls
    query, agents               a GraphQL document, or the messages of an agent, as a token
    schema                      the schema and the OpenAPI document
    db, secret                  schema versions and copies of the database; keys
"""
