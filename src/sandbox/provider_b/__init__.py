"""Provider B as the sandbox serves it: mail over the second wire protocol."""
