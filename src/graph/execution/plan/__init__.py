"""
Compiled operations: what a document does, worked out once instead of at every value.

    inputs      variables and arguments, read with all that is known ahead
    leaves      which scalars and enums have a type that checks and writes them exactly
    shapes      a selection of plain fields as one type: from record to JSON in two C calls
    inspection  what such a type cannot check: time zones, and how many objects there are
    selections  what of a selection is read in one step, and what has a resolver
    planning    the plan of an operation for one set of hidden fields
    executor    graphql-core's executor, taking the planned steps instead of small ones
    cache       the plans that are kept
    program     an operation ready to run, with its plan or without

Whatever a plan meets that it did not expect is left to graphql-core, which does it again from the
start of the subtree: errors, paths and nulls are never the plan's own. See docs/guides/plans.md.
"""
