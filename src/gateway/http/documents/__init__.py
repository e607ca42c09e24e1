"""
Questions about a document besides its answer.

    cost_report  what a request to POST /graphql cost its caller
    explain      POST /graphql/explain: why a document is refused
"""
