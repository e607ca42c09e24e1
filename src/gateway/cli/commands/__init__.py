"""The commands, one module per command or group; each imports what it needs when it runs."""
