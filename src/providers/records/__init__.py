"""
Records: what ports return, frozen.

A GraphQL type is a view of the record of the same name, so attributes are the field names in
snake_case (`from_` for `from`). An attribute that is not wanted, or that upstream does not tell, is
None; sequences are tuples; times are aware, UTC.

    base   base class, and times in milliseconds
    finite_numbers
           numbers that no provider stores
    mail, calendar, tasks, collab
           the records of each surface
"""
