"""`binlake check`: is a source server fit to be replicated, setting by setting, and what to change.

`reading` asks the server, `facts` is what it said, `variables`, `time_and_names`, `tables` and
`grants` judge it, each finding as `finding` has it; `checks` is the list of all, `report` shows it.
"""
