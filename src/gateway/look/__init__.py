"""
The look of the pages: one style sheet, and the frame of a page.

    pages      HTML from templates, with the style sheet and its policy
    look.css   colours for light and dark, spacing, focus rings
    frame.html the frame: head, main part
"""
