"""What it looks like: the GraphQL schema, and how an operation runs."""
