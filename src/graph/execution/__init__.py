"""
Execution of prepared operations.

    plan               compiled operations
    counting_executor  graphql-core's executor with a budget of returned objects
    edge_resolvers     resolvers of edges, which call those of root fields
    fast_resolvers     resolvers of scalar arguments, called without Strawberry's wrappers
    if_match           the version that a change is for
    not_found_delay    the delay of 404 responses
    requested_fields   which record attributes a selection needs
"""
