"""
Collaboration content: the schema's types and root fields for files, sites, lists and search.

    types                 output types of files, labels, permissions and search
    site_types            output types of libraries, sites, lists and their items
    inputs                input types, and the validation of their members
    ids                   parsing of ids that callers pass in
    file_names            names of files, and the media types that they say
    list_item_columns     columns of list items that change more than the item
    failures              translation of provider failures into refusals and warnings
    visibility            the rules of the token: what it reads and changes
    paging                pages of visible entries
    labels                sensitivity labels
    site_queries          sites, libraries and lists
    file_filters          filters and orders of files, and what they reveal
    file_queries          files and folders, download links, permissions
    item_queries          list items
    search_selectors      selectors of a search, and the fields they read
    search_hits           visible hits, and what their total counts
    search_queries        search over all content
    changes               steps that all mutations share
    previews              what a mutation is about to write, for previews
    file_mutations        upload, new folders, rename, move, delete
    permission_mutations  sharing, and changes of permissions
    item_mutations        changes of list items
"""
