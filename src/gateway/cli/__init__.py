"""The command line: `access-gateway …`."""
