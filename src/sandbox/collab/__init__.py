"""The server side of the collaboration content's wire: sites, libraries, files, lists, search."""
