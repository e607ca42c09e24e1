"""
Sandbox server of the collaboration content: a Microsoft Graph API of sites, files and lists.

    records         the stored records: sites, libraries, items, lists, rows, shares, labels
    store           all records in memory, written through to the database
    ids             drive and item ids, derived from GUIDs
    builders        creates content with deterministic ids: demo world, imports and tests
    routes          assembles the handler of ``/v1.0`` and ``/beta``
    endpoint        routes a request, charges it and turns refusals into responses
    paths           normalises the spellings of a request path
    path_aliases    rewrites aliased resource paths to the canonical ones
    requests        one request: its caller, permissions, referenced resources, query options
    resource_units  throttling by resource units per minute
    errors          refusals with the codes and messages of the API
    paging          pages of a collection, linked by `$skiptoken`
    sites           site endpoints and application grants
    labels          sensitivity label endpoints
    files           drives, files, uploads, downloads and permissions
    lists           lists, columns and list items
    search          `/search/query` with its keyword language
"""
