"""
Lists and list items of one connection.

    lists          lists and their columns
    items          pages of list items; single and batched reads
    item_filters   the filter language: parsed, checked against columns, evaluated
    odata_filters  the part of a filter that upstream evaluates
    item_cursors   cursors of pages of list items
    item_order     the order of list items
    item_writing   changes of list items
"""
