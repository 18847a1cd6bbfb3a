"""Why a module of fewer than 40 lines is one of its own."""

ROOMS = {
    "decoder.events": "an event each, with its byte layout",
    "decoder.columns": "a column type each",
}
REASONS = {
    "decoder.encryption.keyring": "a file format of its own, beside the plugin's",
    "decoder.framing.frames.chunked_reader": "input in pieces: neither the buffer's nor the dump's own",
    "decoder.kernels.processor": "what the cache and numba must agree on",
    "decoder.model.lossy_values": "columns and rows both use it",
    "decoder.model.options": "the face's own type",
    "decoder.model.segment": "the face's own type",
    "decoder.transactions.boundaries.row_spans": "boundaries and summaries both use it",
    "pipeline.catalog.ddl.alter.kept_values": "one question of ALTER TABLE, asked from two places",
    "pipeline.catalog.ddl.ddl.names": "every reader of DDL uses it",
    "pipeline.catalog.timeline.timeline.renames": "a RENAME of several tables is a case of its own",
    "pipeline.cli.app.__main__": "`python -m pipeline.cli`",
    "pipeline.gold.schema.partition_rows": "DDL's partitions as SQL, and nothing else",
    "pipeline.gold.table.incomplete": "a job and the status both report it",
    "pipeline.gold.table.refusal": "an error type that all of gold raises",
    "pipeline.gold.table.write": "a type that all of gold's writers use",
    "pipeline.lake.layout.ledger.refill": "bronze asks it, without silver",
    "pipeline.lake.layout.small_jobs": "a setting of Spark that several rooms switch",
    "pipeline.lake.layout.sql_text": "the first step of the room: it imports nothing",
    "pipeline.lake.layout.tables.opening": "the choice between two implementations",
    "pipeline.maintenance.scratch": "one kind of leftovers each",
    "pipeline.maintenance.seeds": "one kind of leftovers each",
    "pipeline.observe.cancellation": "tasks ask it in threads, without Spark",
    "pipeline.settings.settings.model": "the base of all settings models",
    "pipeline.settings.settings.seed": "one section of the settings file each",
    "pipeline.settings.settings.time_zone": "conf and the source's sessions share it",
    "pipeline.silver.decode.decode.server_version": "a question to a log's first event",
    "pipeline.source.capture.destination": "a capture and its status share it",
    "pipeline.source.capture.reader": "a thread of its own",
    "pipeline.source.capture.server_refusals": "what servers refuse to a capture, in words",
    "pipeline.source.check.checks": "the list of all checks",
    "pipeline.source.check.run": "the entry of the room",
    "pipeline.source.logs.server_folders": "a folder layout that a capture and bronze share",
    "pipeline.source.server.errors": "error types of the room",
    "pipeline.spark.session.cache": "a path that jars and Java share",
    "pipeline.verify.script": "it builds the script, and is not in it",
}


def reason(name: str) -> str | None:
    """By the module's new name."""
    return ROOMS.get(name.rpartition(".")[0]) or REASONS.get(name)
