"""The second task provider: a REST wire over projects, sections, tasks, fields and stories."""
