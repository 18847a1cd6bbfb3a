"""Maintenance: what nothing needs any more goes, and what is left is laid out to be read fast.

`job` runs it: `needs` says what must stay and why, `limits` how far that lets removal go,
`planning` puts it into a plan, `retention` carries it out; `tables` says what is there to look
after, `upkeep` does.
"""
