"""
The collaboration content of all connections of a caller.

    merged_content   MergedContent: all connections as one; search, and the parts below
    merged_sites     sites and libraries, and what is remembered during a request
    merged_files     files and folders
    merged_lists     lists and list items
    routing          ConnectionRouter: calls to the first connection that sees an id, or to all
    file_lister      pages of files, in upstream's order or sorted here
    ancestors        the folders above files
    field_selection  the list item values to request, and those to hide
    fingerprints     finding what was created when the answer was lost
"""
