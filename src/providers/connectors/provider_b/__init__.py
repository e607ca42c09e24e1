"""Provider B: mail and calendar over its wire protocol."""
