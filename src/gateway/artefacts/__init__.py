"""
The committed files that are built from code.

    settings_page   docs/reference/settings.md
    commands_page   docs/reference/commands.md
    modules_page    docs/reference/modules.md
    __main__        all of them, with schema.graphql and openapi.json
"""
