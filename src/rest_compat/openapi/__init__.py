"""
Describes the documented paths as OpenAPI 3.1.

Modules, in reading order:

    document      the whole description, built from table, documents and schema
    overview      the text about the rules that all calls share
    components    error responses, headers and parameters that paths share
    schema_values  JSON Schemas as values
    json_schemas  JSON Schemas of GraphQL selections and inputs

`examples.json` holds an example of each operation; `./run examples` writes it.
"""
