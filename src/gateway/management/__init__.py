"""The management API: operators, resources, connections, tokens and rules, for the admin alone."""
