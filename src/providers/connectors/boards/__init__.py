"""
Connector of monday.com, by its GraphQL API.

    tasks           the task port of one account
    board_list      listing of the account's boards
    item_list       listing of a board's items
    filters         item queries as monday.com's item rules
    documents       GraphQL documents, restricted to the wanted and visible fields
    column_types    column types and settings
    people          names of people whose text does not tell them apart
    mapping         from response structs to records
    writing         mutations, one board at a time and column by column when refused
    graphql_client  sends documents and decodes responses
    response_types  structs that responses are decoded into
    failures        GraphQL errors as provider failures
    account         the address of a token's owner
"""
