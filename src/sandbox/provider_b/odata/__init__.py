"""
OData query options over JSON records.

    schema         record types that queries are checked against
    query_options  parses and applies ``$select``, ``$expand``, ``$orderby`` and paging
    filters        parser of ``$filter``
    filter_terms   comparisons, literals and functions of a filter
"""
