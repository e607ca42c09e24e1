"""
Tools for agents that speak the Model Context Protocol, answered through GraphQL documents.

Modules, in reading order:

    endpoint      handles POST /mcp: origin, token, method
    wire          JSON-RPC over POST, in both revisions of the protocol
    table         one row per tool: its documents and their arguments
    rows          what a row consists of
    toolbox       the tools of one token, as its shape allows them
    choice        the document of a call, by its arguments
    selections    the part of a selection that a token can see, as a document
    arguments     tool arguments as JSON Schema, and as variables
    calls         runs a document as a call of REST
    confirmation  writes that are shown before they run
    approval      writes that wait for a person
    answers       results as fenced text of bounded size
    refusals      refusals that say what the caller can do
    graph_tools   the schema of a token by topic, and read-only documents
    ports         protocols of the services that this package calls
"""
