"""The board provider, over its GraphQL wire protocol."""
