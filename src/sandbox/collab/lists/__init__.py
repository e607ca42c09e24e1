"""
Lists of a site and their items.

    columns          JSON representation of columns and content types
    lists            endpoints: lists, their columns and content types
    list_item_views  JSON representation of list items
    list_items       endpoints: read, create, change and delete list items
    query_limits     `$filter` and `$orderby` of list items, within the limits of upstream
"""
