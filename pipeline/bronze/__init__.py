"""Bronze: the input files' bytes, as segments that can be decoded one by one, and given back.

`job` runs it: `listing` finds the binary logs, `order` gives each its place, `scan` finds where to
cut them, `verdict` and `plan` decide what becomes of each, `batch` carries the plan out.
"""
