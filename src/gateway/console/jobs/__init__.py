"""
The jobs of an operator, one module each: its routes, and its `JOB` for the registry.

    alive         is everything alive
"""
