"""Silver: bronze's segments decoded to one Delta table per table definition.

In data order: `segments` (what is new and without a gap), `survey` (definitions and DDL, in the
order of the log), `plan`; then in tasks (`segment_tasks`) `stored_segments`, `decode` and
`target_writer`, whose files `decoding` brings together and `batch_tables` commits; `quarantine`.
`job` runs them.
"""
