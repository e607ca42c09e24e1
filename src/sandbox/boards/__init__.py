"""
monday.com's task boards: a GraphQL API over boards, groups, columns, items and updates.

    endpoint          the one HTTP endpoint: reads, validates and executes documents
    schema            the GraphQL schema (schema.graphql) with its resolvers
    context           the execution context: the caller, the scopes, the records within reach
    queries           resolvers of the root query fields
    field_resolvers   resolvers of the fields of each type
    item_mutations    mutations of items
    board_mutations   mutations of boards, groups, columns, updates and tags
    resolver_helpers  functions that all resolvers share
    paging            pages of items and their cursors
    query_rules       filters and order of item pages (``query_params``)
    column_values     values of columns as responses show them
    column_parsers    values of columns as mutations take them
    labels            labels of status and dropdown columns, found or created
    settings          settings of new columns
    complexity        the complexity budget and the cost of a document
    responses         response bodies, by API version, and injected faults
    errors            application errors and their codes
    store             all records of the account
    records           the types of the records

The API is described in docs/spec/upstream/monday.md.
"""
