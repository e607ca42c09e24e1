"""
Layer 3 of the collab surface: the rules of a token decide what it reads and changes.

    rule_facts         the facts that rules ask about, loaded in batches
    record_reader      records by their keys, read together where several fields read
    accounts           the accounts that admit a call, each narrowed by its own settings
    access             the access checker: reads resources and applies the rules to them
    folder_checks      changes to a folder, which change everything in it
    auto_rules         the allow rule of what a token creates in block-all mode
    parent_visibility  names and sizes of the folder, list and site around a resource
    column_masks       list columns that repeat a masked field
    lookup_columns     list columns that repeat other resources
"""
