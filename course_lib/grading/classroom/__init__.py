"""A whole class: its submissions found, each answer judged alone in a sandbox, one report on all of them. See docs/instructors.md."""
