"""Collaboration content over its wire protocol: sites, libraries, files, lists, search, labels."""
