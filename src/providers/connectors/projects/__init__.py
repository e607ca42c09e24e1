"""The project provider, over its REST wire protocol."""
