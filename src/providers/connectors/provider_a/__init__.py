"""Provider A: mail and calendar over its wire protocol."""
