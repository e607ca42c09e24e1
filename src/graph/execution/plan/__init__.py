"""
Compiled operations: work that is the same for every value of a document, done once.

    inputs         variables and arguments, coerced as far as possible ahead
    shapes         a selection of plain fields as one type: from record to JSON in two C calls
    whole_records  records that are their selection already, and are not copied into its type
    record_checks  checks that such a type cannot make: time zones, and the number of objects
    selections     splits a selection into attributes read in one step and fields with resolvers
    planning       the plan of an operation for one set of hidden fields
    executor       graphql-core's executor, which takes the steps of a plan
    cache          the least-recently-used cache of plans
    program        an operation ready to run, with or without a plan

A value that a plan does not expect is left to graphql-core, which repeats the subtree from its
start: errors, paths and nulls are never the plan's own. See docs/guides/plans.md.
"""
