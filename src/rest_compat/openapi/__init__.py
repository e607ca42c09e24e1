"""
Describes the documented paths as OpenAPI 3.1.

Modules, in reading order:

    document      the whole description, built from table, documents and schema
    components    error responses, headers and parameters that paths share
    json_schemas  JSON Schemas of GraphQL selections and inputs
"""
