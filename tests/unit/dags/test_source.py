"""Sources' files, and the messages about invalid ones."""

from __future__ import annotations

import json
import runpy
from datetime import timedelta
from pathlib import Path

import pytest
from airflow.dag_processing.dagbag import DagBag

from binlake_airflow.source import Options, Source, SourceError
from binlake_airflow.source_files import read_sources
from pipeline.settings import Settings

ROOT = Path(__file__).parents[3]
DAGS = ROOT / "dags"
EXAMPLE = ROOT / "conf" / "sources" / "shop.yml"


def test_the_example_shows_every_key_with_its_default() -> None:
    source = Source.read(EXAMPLE)
    assert source.options == Options()
    settings = Settings.load(EXAMPLE)
    assert set(settings.airflow) == set(Options.model_fields)
    assert (settings.source, source.name) == ("shop", "shop")


def test_the_guide_lists_every_key() -> None:
    guide = (ROOT / "docs" / "guides" / "airflow.md").read_text()
    assert [key for key in Options.model_fields if f"| `{key}` |" not in guide] == []


def test_a_minimal_source(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_text("source: erp.eu-1\nlake: /lake\n")
    source = Source.read(file)
    assert (source.pool, source.conf) == ("binlake_erp.eu-1", str(file))
    assert source.dag_id("replication") == "binlake_erp.eu-1_replication"
    assert source.options.timeout == timedelta(hours=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "source must be a name"),
        ("lake: a\nsource: ${NAME}", "wrong.yml:2: source must be a name"),
        ("- source", "source must be a name"),
        ("source: a b", "source must be a name"),
        ("source: [", "cannot be read: line 1 is not valid YAML"),
        ("source: a\nx: !!int opensesame", "cannot be read: it is not valid YAML (ValueError)"),
        ("source: a\nx: !!bool maybe", "cannot be read: it is not valid YAML (KeyError)"),
        ("source: a\nx: " + "[" * 2000, "cannot be read: it is not valid YAML (RecursionError)"),
        ("source: a\nairflow: {pool: default_pool}", "airflow.pool must be a pool for Binlake"),
        ("source: a\nsystem_time_zone: 2026-02-30", "cannot be read: day"),
        ("source: a\nairflow: {timeout: 4}", "airflow.timeout is not a duration, such as"),
        (
            "source: a\nairflow: {timeout: 0 days}",
            "airflow.timeout expects a value that is greater",
        ),
        ("source: a\nairflow: {retries: -1}", "airflow.retries expects a value that is greater"),
        ("source: a\nairflow: {check: no}", "airflow.check expects a value that is 'fail' or"),
        (
            "source: a\nairflow: {conection: x}",
            "wrong.yml:2: airflow.conection is not a setting; did you mean airflow.connection?",
        ),
        ("source: a\nairflow: {qqq: x}", "airflow.qqq is not a setting; settings are: schedule,"),
        ("source: a\nairflow: [x]", "wrong.yml:2: airflow expects keys with values"),
        (
            "source: a\nairflow: {verify: weekly}",
            "airflow.verify is not a schedule: Exactly 5, 6 or",
        ),
        ("source: a\nairflow: {maintenance: 0 25 * * *}", "airflow.maintenance is not a schedule"),
        ("source: a\nairflow: {seed: often}", "airflow.seed expects true or false"),
        (
            "source: a\nlak: /lake",
            "wrong.yml:2: lak: is not a setting. Did you mean lake?",
        ),
        (
            "source: a\nsegments: {target: much}\nlake: /lake",
            "wrong.yml:2: segments.target: expects a size in bytes",
        ),
        (
            "source: a\ncapture: {forever: true}\nairflow: {capture: true}",
            "airflow.capture and capture.forever are both set, but a task must end",
        ),
    ],
)
def test_a_problem_is_reported_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "wrong.yml"
    file.write_text(text)
    with pytest.raises(SourceError, match=r"wrong\.yml") as error:
        Source.read(file)
    assert message in str(error.value)


def test_all_problems_are_reported_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yml"
    file.write_text("airflow:\n  seed: 7\n  tries: 3\n  owner: 1\n  retries: x\nsource: a\n")
    with pytest.raises(SourceError) as error:
        Source.read(file)
    problems = str(error.value).split("; ")
    lines = [part.partition("wrong.yml:")[2][:1] for part in problems if "wrong.yml" in part]
    assert lines == ["2", "3", "4", "5"]


def test_what_depends_on_the_tasks_environment_is_left_to_them(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    tls = "{mode: '${MODE}', ca: /ca.pem, key: /key.pem, cert: '${CERT:-x}'}"
    file.write_text(f"source: a\nparallel_tables: ${{TABLES}}\nserver: {{tls: {tls}}}\n")
    assert Source.read(file).name == "a"
    file.write_text(f"{file.read_text()}lak: ${{LAKE}}/x\nkeep_runs: often\n")
    with pytest.raises(SourceError) as raised:
        Source.read(file)
    (problem,) = raised.value.problems
    assert problem.startswith(f"{file}:5: keep_runs: expects")


@pytest.mark.parametrize(
    "options", ["{command: /opt/binlake/bin/binlake-task}", "{command: other}", "{connection: x}"]
)
def test_settings_of_another_binlake_are_left_to_the_tasks(options: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_text(f"source: a\nof_the_next_release: 1\nairflow: {options}\n")
    assert Source.read(file).name == "a"


def test_a_problem_of_binlakes_settings_contains_no_secret(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_text(
        "source: a\nserver: {url: 'mysql://me:opensesame@[', password: opensesame}\n"
        "encryption: {passwords: {a: opensesame}}\n"
    )
    with pytest.raises(SourceError) as raised:
        Source.read(file)
    assert len(raised.value.problems) == 3
    assert "opensesame" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "read"),
    [("30s", timedelta(seconds=30)), ("90m", timedelta(minutes=90)), ("2 Days", timedelta(days=2))],
)
def test_durations_may_be_abbreviated(tmp_path: Path, text: str, read: timedelta) -> None:
    file = tmp_path / "a.yml"
    file.write_text(f"source: a\nairflow: {{timeout: {text}}}")
    assert Source.read(file).options.timeout == read


@pytest.mark.parametrize("sign", ["%", "*", "&", "!", "@", "`"])
def test_a_message_about_invalid_yaml_contains_no_password(tmp_path: Path, sign: str) -> None:
    """Airflow's pages show the message."""
    file = tmp_path / "a.yml"
    file.write_text(f"source: a\nspark:\n  conf:\n    s3.secret: {sign}opensesame2\n  x: [")
    with pytest.raises(SourceError, match="cannot be read") as error:
        Source.read(file)
    assert "opensesame" not in str(error.value)


def test_a_message_about_refused_operator_arguments_contains_no_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = "{nonsense: opensesame, conf: {spark.x.secret: [opensesame]}}"
    (tmp_path / "a.yml").write_text(f"source: a\nairflow: {{connection: spark, submit: {submit}}}")
    monkeypatch.setenv("BINLAKE_SOURCES", str(tmp_path))
    reason = DagBag(str(DAGS), collect_dags=True).dags["binlake_a_unreadable"].description or ""
    assert "nonsense" in reason
    assert "opensesame" not in reason


@pytest.mark.parametrize("schedule", ["@continuous", "@once", "*/5 * * * *", "null"])
def test_any_schedule_of_airflow_is_accepted(tmp_path: Path, schedule: str) -> None:
    file = tmp_path / "a.yml"
    file.write_text(f"source: a\nairflow: {{schedule: '{schedule}'}}".replace("'null'", "null"))
    assert Source.read(file).options.schedule == (None if schedule == "null" else schedule)


def test_a_permanent_capture_allows_other_tasks(tmp_path: Path) -> None:
    file = tmp_path / "a.yml"
    file.write_text("source: a\ncapture: {forever: true}\nairflow: {seed: true}")
    assert Source.read(file).options.seed


def test_all_files_of_the_folder_are_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLAKE_SOURCES", str(tmp_path))
    assert read_sources() == []
    (tmp_path / "1.yml").write_text("source: b")
    (tmp_path / "2.yml").write_text("source: a")
    (tmp_path / "3.yml").write_text("source: a")
    (tmp_path / "4.yaml.example").write_text("source: c")
    (tmp_path / "5.yaml").write_text("source: d")
    # Of two files of the same source, the .yml file counts.
    (tmp_path / "1.yaml").write_text("source: b")
    found = [(one.name, one.file.name) for one in read_sources()]
    assert found == [("a", "2.yml"), ("b", "1.yml"), ("d", "5.yaml")]
    dags = DagBag(str(DAGS), collect_dags=True).dags
    reasons = {name: dag.description for name, dag in dags.items() if name.endswith("_unreadable")}
    assert reasons.keys() == {"binlake_3_unreadable", "binlake_1.yaml_unreadable"}
    assert "source b is already defined by 1.yml" in str(reasons["binlake_1.yaml_unreadable"])


@pytest.mark.parametrize("exists", [False, True], ids=["missing", "empty"])
def test_a_folder_without_sources_has_a_dag_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    """If a volume is not mounted, the replication would otherwise stop without an alert."""
    folder = tmp_path / "nowhere"
    if exists:
        folder.mkdir()
    monkeypatch.setenv("BINLAKE_SOURCES", str(folder))
    dags = DagBag(str(DAGS), collect_dags=True)
    assert not dags.import_errors
    assert set(dags.dags) == {"binlake_nowhere_unreadable", "example_binlake_report"}
    reason = dags.dags["binlake_nowhere_unreadable"].description or ""
    assert "nowhere, the folder of the sources (BINLAKE_SOURCES), does not exist here" in reason


@pytest.mark.parametrize(
    "wrong", ["submit: {executer_memory: 8g}\n  connection: spark", "schedule: every hour"]
)
def test_an_invalid_dag_does_not_affect_other_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("BINLAKE_SOURCES", str(tmp_path))
    (tmp_path / "1.yml").write_text(f"source: wrong\nairflow:\n  {wrong}\n")
    (tmp_path / "2.yml").write_text("source: right")
    dags = DagBag(str(DAGS), collect_dags=True)
    assert not dags.import_errors
    assert "1.yml" in (dags.dags["binlake_1_unreadable"].description or "")
    kinds = {name.rpartition("_")[2] for name in dags.dags if name.startswith("binlake_right_")}
    assert kinds == {"replication", "backfill", "maintenance"}
    assert "binlake_wrong_replication" not in dags.dags


def test_pools_are_printed_for_airflows_import(
    sources: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BINLAKE_SOURCES", str(sources))
    runpy.run_module("binlake_airflow.pools", run_name="__main__")
    pools = json.loads(capsys.readouterr().out)
    assert {name: pool["slots"] for name, pool in pools.items()} == {"lake": 1, "binlake_shop": 1}
