"""The commands `run`, `sync`, `status`, `check` and `verify`, with what `--json` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from binlake.arguments import GivenSettings, PathOrUrl, settings_from
from pipeline.observe import QuietProgress
from pipeline.run import lake_status, run_record, sync_record, verification

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from binlake.arguments import Options
    from pipeline.lake.ledger import RunRecord
    from pipeline.run import Status
    from pipeline.source.check import CheckReport
    from pipeline.verify import Verification


def run(
    settings: GivenSettings = None, *, full_refresh: bool = False, **options: Unpack[Options]
) -> RunRecord:
    """Ingest, decode and apply new changes, as `binlake run` does; return the run's record.

    `settings`: a Settings, a settings file (`.yml`, `.yaml`), or the lake's folder; `options` are
    the keys of such a file and override it. `full_refresh`: rebuild silver and gold from bronze.

    `outcome` is `done`, `nothing_new`, or `faults`: `faults` and `gaps` list what could not be
    decoded or applied and what the log lacks; the tables affected are held. `to_json()` is this
    run's line of `binlake runs --json`. Raises BinlakeError if the run fails; the next run resumes
    it.
    """
    command = "run --full-refresh" if full_refresh else "run"
    return run_record(settings_from(settings, options), QuietProgress(), command)


def sync(settings: GivenSettings = None, **options: Unpack[Options]) -> RunRecord:
    """Capture until caught up, seed tables that gold lacks, then run, as `binlake sync` does.

    Returns the record of the run. Arguments and errors as in `run` and `check`;
    `capture={"to": folder}` is needed. To keep gold up to date, call it repeatedly, or run
    `binlake sync --every 30s`, which captures concurrently.
    """
    return sync_record(settings_from(settings, options), QuietProgress())


def status(settings: GivenSettings = None, **options: Unpack[Options]) -> Status:
    """Return the last run, lag, positions, faults and gaps of a lake, as `binlake status` does.

    Arguments as in `run`. Reads the lake's own records; Spark is started only if this process
    cannot reach the lake. Raises SettingsError if there is no lake.
    """
    return lake_status(settings_from(settings, options))


def check(settings: GivenSettings = None, **options: Unpack[Options]) -> CheckReport:
    """Check each setting of the source server, as `binlake check` does.

    Arguments as in `run`; `server` may be a URL (`mysql://user@host:3306`), whose password comes
    from the environment or a file (docs/guides/configuration.md). Raises SettingsError,
    ServerError.
    """
    from pipeline.source import check_server

    return check_server(settings_from(settings, options))


def verify(
    settings: GivenSettings = None,
    *,
    against: PathOrUrl | None = None,
    tables: Sequence[str] = (),
    wait: float = 600,
    **options: Unpack[Options],
) -> Verification:
    """Return a checksum and a row count of every gold table, as `binlake verify` does.

    `against`: compare with a server (`mysql://user@host`, or `server` for the one that settings
    name) or with a file that the script wrote. `tables`: patterns over `schema.table`. `wait`:
    seconds to wait until gold catches up with the server. Other arguments as in `run`. Raises
    SettingsError if nothing is published yet, ServerError.
    """
    from pipeline.settings import is_server

    values: dict[str, Any] = dict(options)
    other = None if against is None else str(against)
    if other is not None and is_server(other):
        values["server"] = other
    return verification(
        settings_from(settings, values), QuietProgress(), tables=tables, against=other, wait=wait
    )
