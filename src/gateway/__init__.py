"""The process: assembles the other four packages and holds the operator's side."""
