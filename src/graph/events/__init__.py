"""
The calendar surface of the schema.

    queries  root queries
    filters  arguments -> checked filters and ranges
    types    output types
"""
