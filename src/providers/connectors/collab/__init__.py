"""
The connector to the collaboration content, over its wire protocol.

    connection          CollabConnection: the parts of one connection, put together
    connection_context  what the parts share: upstream client, page reader, cache
    files, lists, search  the parts
    paging              pages of collections, and cursors
    batch               many reads in one call
    selected_fields     selection options for the wanted attributes
    response_types      typed JSON responses
    mapping             responses to records
    failures            classification of error responses
    ttl_cache           what is cached between requests
"""
