"""
Collaboration content of the demo world.

    sites          entry point: sites, grants, and the ids of notable resources
    project_files  libraries of yard, studio and office with thousands of files
    lists          lists: berths, customers, work orders, stock, and every list template
    labels         sensitivity labels
    edge_cases     unusual content: odd names, locks, unreadable labels, full libraries
"""
