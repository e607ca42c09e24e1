"""What may be done: decides, and does no I/O."""
