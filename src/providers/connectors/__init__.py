"""
The connectors: one package per upstream, none of which imports another.

    provider_a   mail and calendar
    provider_b   mail and calendar, over OData
    collab       sites, libraries, files, lists and search, over OData
    boards       task boards, over GraphQL
    projects     task projects, over REST
"""
