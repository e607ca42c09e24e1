"""The task provider of boards: a GraphQL wire over boards, groups, columns, items and updates."""
