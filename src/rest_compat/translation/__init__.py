"""
Translates between REST calls and GraphQL documents (docs/spec/graphql.md#rest-and-graphql).

    to_graphql  a REST call as a document with variables
    to_rest     a document as the REST call that answers the same
"""
