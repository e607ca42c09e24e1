"""
Task boards and projects of the demo world.

    board_plan  planned boards and items, and the builder that adds them to the store
    boat_orders the largest board: a job per item, a column of nearly every type
    boards      the account of the boards API: its people and all its boards
    projects    the workspace of the projects API: its people, projects and tasks
"""
