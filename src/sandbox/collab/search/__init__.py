"""
Search over all content.

    keyword_query  parser of the keyword query language
    index          searchable documents, built from the store
    query          the endpoint `/search/query`
"""
