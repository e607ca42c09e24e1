"""
Describes the documented paths as OpenAPI 3.1.

Modules, in reading order:

    document      the whole description, built from table, documents and schema
    overview      the text about the rules that all calls share
    graphql_paths  calls about GraphQL documents
    shape         the part of it that a token can use
    saved         the saved documents that a token can run
    saved_schemas  JSON Schemas of their selections
    components    error responses, headers and parameters that paths share
    effects       components that describe what a dry run answers
    schema_values  JSON Schemas as values
    json_schemas  JSON Schemas of GraphQL selections and inputs

`examples.json` holds an example of each operation; `./run examples` writes it.
"""
