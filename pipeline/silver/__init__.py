"""Silver: bronze's segments decoded to one Delta table per table definition.

In data order: `segments` (what is new and without a gap), `survey` (definitions and DDL, in the
order of the log), `plan`, `decode` (in Spark's Python workers), `staging`, `tables`,
`transactions`, `quarantine`; `job` runs them.
"""
