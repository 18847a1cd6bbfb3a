"""OpenLineage events of a run: START and COMPLETE, FAIL or ABORT of each layer.

A run's layers are OpenLineage runs of their own, with the command as their parent. Their ids are
derived from the run's, so that events and `ledger/runs` can be matched.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pipeline.errors import MissingRequirementError
from pipeline.lake.delta_log.spark_types import spark_type
from pipeline.observe.current_run import binlake_version
from pipeline.run.monitoring.datasets import LayerDatasets, LineageDataset
from pipeline.settings import Settings
from pipeline.settings.monitoring import LineageSettings, is_web
from pipeline.settings.secret_file import read_secret

if TYPE_CHECKING:
    from openlineage.client import OpenLineageClient
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunState
    from openlineage.client.facet_v2 import DatasetFacet, InputDatasetFacet, OutputDatasetFacet
    from openlineage.client.generated.schema_dataset import SchemaDatasetFacetFields
    from openlineage.client.transport import Transport

KEY_VARIABLE = "OPENLINEAGE_API_KEY"
_INSTALL = "Run: pip install 'binlake[lineage]', or pip install '.[lineage]' in a clone."
_JOB_TYPE = "LAYER"
"""The type of the jobs in OpenLineage's terms: each is a layer of a command."""


@dataclass(frozen=True, slots=True)
class Lineage:
    """Sender of the events of one run; `job` and `run_id` are those of the command, the parent."""

    client: OpenLineageClient
    namespace: str
    source: str
    job: str
    run_id: uuid.UUID

    @classmethod
    def of(cls, settings: Settings, command: str, run_id: str) -> Lineage | None:
        """Return the lineage of a run; None without the setting.

        Raises MissingRequirementError if openlineage-python is not installed, SettingsError if the
        key cannot be read.
        """
        own = settings.lineage
        if own.openlineage is None:
            return None
        try:
            from openlineage.client import OpenLineageClient
        except ModuleNotFoundError as error:
            reason = f"lineage.openlineage needs a package that is not installed ({error.name})."
            raise MissingRequirementError(reason, remedy=_INSTALL) from error
        client = OpenLineageClient(transport=_transport(own, own.openlineage))
        job = f"{settings.source}.{command.partition(' ')[0]}"
        return cls(client, own.namespace, settings.source, job, uuid.UUID(run_id))

    def started(self, layer: str) -> None:
        """Send START of a layer."""
        from openlineage.client.event_v2 import RunState

        self._send(RunState.START, layer, LayerDatasets(), None)

    def completed(self, layer: str, datasets: LayerDatasets) -> None:
        """Send COMPLETE of a layer, with what it read and wrote."""
        from openlineage.client.event_v2 import RunState

        self._send(RunState.COMPLETE, layer, datasets, None)

    def failed(self, layer: str, datasets: LayerDatasets, error: str, *, interrupted: bool) -> None:
        """Send FAIL of a layer, or ABORT, with what it had finished; `error`: without secrets."""
        from openlineage.client.event_v2 import RunState

        state = RunState.ABORT if interrupted else RunState.FAIL
        self._send(state, layer, datasets, error)

    def _send(
        self, state: RunState, layer: str, datasets: LayerDatasets, error: str | None
    ) -> None:
        from openlineage.client.event_v2 import Job, Run, RunEvent
        from openlineage.client.facet_v2 import error_message_run, job_type_job, parent_run

        parent = parent_run.ParentRunFacet(
            run=parent_run.Run(runId=str(self.run_id)),
            job=parent_run.Job(namespace=self.namespace, name=self.job),
        )
        facets: dict[str, Any] = {"parent": parent}
        if error is not None:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "PYTHON")
        kind = job_type_job.JobTypeJobFacet("BATCH", "BINLAKE", _JOB_TYPE)
        self.client.emit(
            RunEvent(
                eventType=state,
                eventTime=datetime.now(timezone.utc).isoformat(),
                run=Run(runId=str(uuid.uuid5(self.run_id, layer)), facets=facets),
                job=Job(self.namespace, f"{self.source}.{layer}", facets={"jobType": kind}),
                inputs=[_input(one) for one in datasets.inputs],
                outputs=[_output(one) for one in datasets.outputs],
                producer=f"urn:binlake:{binlake_version()}",
            )
        )


def _transport(settings: LineageSettings, place: str) -> Transport:
    """Return the transport to a server or a file."""
    from openlineage.client.transport.file import FileConfig, FileTransport
    from openlineage.client.transport.http import (
        ApiKeyTokenProvider,
        HttpConfig,
        HttpTransport,
        TokenProvider,
    )

    if not is_web(place):
        return FileTransport(FileConfig(log_file_path=place, append=True))
    key = read_secret(KEY_VARIABLE, settings.api_key_file, key="lineage.api_key_file")
    auth = TokenProvider({}) if key is None else ApiKeyTokenProvider({"apiKey": key})
    # No retries: they would only delay the run.
    return HttpTransport(
        HttpConfig(url=place, timeout=settings.timeout, auth=auth, retry={"total": 0})
    )


def _input(dataset: LineageDataset) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset
    from openlineage.client.facet_v2 import input_statistics_input_dataset as statistics

    read: dict[str, InputDatasetFacet] = {}
    if _has_figures(dataset):
        read["inputStatistics"] = statistics.InputStatisticsInputDatasetFacet(
            rowCount=dataset.rows, size=dataset.bytes, fileCount=dataset.files
        )
    return InputDataset(dataset.namespace, dataset.name, facets=_facets(dataset), inputFacets=read)


def _output(dataset: LineageDataset) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    written: dict[str, OutputDatasetFacet] = {}
    if _has_figures(dataset):
        written["outputStatistics"] = statistics.OutputStatisticsOutputDatasetFacet(
            rowCount=dataset.rows, size=dataset.bytes, fileCount=dataset.files
        )
    return OutputDataset(
        dataset.namespace, dataset.name, facets=_facets(dataset), outputFacets=written
    )


def _has_figures(dataset: LineageDataset) -> bool:
    return (dataset.rows, dataset.bytes, dataset.files) != (None, None, None)


def _facets(dataset: LineageDataset) -> dict[str, DatasetFacet]:
    """Return schema, column lineage and version of a dataset, as far as they are known."""
    from openlineage.client.facet_v2 import (
        column_lineage_dataset as column_lineage,
        dataset_version_dataset,
        schema_dataset,
    )

    facets: dict[str, DatasetFacet] = {}
    if dataset.schema is not None:
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=_fields(dataset.schema))
    if dataset.columns:
        facets["columnLineage"] = column_lineage.ColumnLineageDatasetFacet(
            fields={
                name: column_lineage.Fields(
                    inputFields=[column_lineage.InputField(*origin) for origin in origins]
                )
                for name, origins in dataset.columns.items()
            }
        )
    if dataset.version is not None:
        version = dataset_version_dataset.DatasetVersionDatasetFacet(dataset.version)
        facets["version"] = version
    return facets


def _fields(columns: pa.Schema | pa.StructType) -> list[SchemaDatasetFacetFields]:
    """Return columns with Spark's types; those of a struct are below it."""
    return [_field(column) for column in columns]


def _field(column: pa.Field) -> SchemaDatasetFacetFields:
    from openlineage.client.facet_v2 import schema_dataset

    if pa.types.is_struct(column.type):
        inner = _fields(column.type)
        return schema_dataset.SchemaDatasetFacetFields(column.name, "struct", fields=inner)
    kind = spark_type(column.type).simpleString()
    return schema_dataset.SchemaDatasetFacetFields(column.name, kind)
