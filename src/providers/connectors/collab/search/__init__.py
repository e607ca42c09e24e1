"""
Search over everything that a connection sees.

    keyword_query   the search language: parsed, and evaluated on what is known of an object
    search          upstream's search index, for delegated connections
    selected_sites  a search of each selected site, for app-only connections
"""
