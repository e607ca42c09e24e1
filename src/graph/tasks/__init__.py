"""
The tasks surface of the schema: boards, items, comments.

    queries          root queries
    read_arguments   checks of query arguments; the visible part of items
    mutations        root mutations
    write_arguments  checks of mutation inputs
    previews         what a mutation is about to write, for previews
    routing          the choice of an account, and the token's board scope
    types            output types
"""
