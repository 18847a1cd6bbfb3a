"""A lake in S3, configured in conf alone, used by processes that may not start Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.bronze.bronze_input import FILES
from tests.support.lake.object_store import CREDENTIALS, ObjectStore, object_store

LAKE = "s3a://lake/shop"
NO_JAVA = """
import os, sys
def forbid(event, arguments):
    if event == "subprocess.Popen" and any(
        name in str(arguments[:2]) for name in ("spark-submit", "spark-class", "java")
    ):
        os.write(2, b"Java is started")
        os._exit(97)
sys.addaudithook(forbid)
from pipeline.cli.app import main
main()
"""


def binlake(conf: Path, *arguments: str, expected: int = 0) -> str:
    """Run the command without environment variables for the store; return its output."""
    environment = {name: value for name, value in os.environ.items() if "AWS_" not in name}
    done = subprocess.run(
        [sys.executable, "-c", NO_JAVA, *arguments, "--conf", str(conf), "--lake", LAKE],
        env={**environment, "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == expected, output[-3000:]
    assert not any(secret in output for secret in CREDENTIALS.values())
    return output if expected else done.stdout


def conf_of(store: ObjectStore, file: Path, **more: str) -> Path:
    """Return the settings of a run on the store, with `more` S3A settings."""
    conf = {**store.conf, **{f"spark.hadoop.fs.s3a.{key}": value for key, value in more.items()}}
    file.write_text(yaml.safe_dump({"spark": {"conf": conf}}))
    return file


def test_bronze_silver_and_status_of_a_lake_in_s3_never_start_java(tmp_path: Path) -> None:
    with object_store() as store:
        store.files.mkdir("lake")
        store.put_file(FILES[0], f"logs/{FILES[0].name}")
        conf = conf_of(store, tmp_path / "s3.yml")
        source = ("--source", "shop")
        binlake(conf, "ingest", *source, "--binlogs", "s3://logs")
        binlake(conf, "decode", *source)
        status = json.loads(binlake(conf, "status", "--json"))
        assert [one["source"] for one in status["sources"]] == ["shop"]
        runs = map(json.loads, binlake(conf, "runs", "--json").splitlines())
        assert {run["command"] for run in runs} == {"ingest", "decode"}
        assert store.files.find("lake/shop/silver/transactions")
        for path in store.files.find("lake/shop"):
            content = store.files.cat_file(path)
            assert not any(secret.encode() in content for secret in CREDENTIALS.values()), path

        vault = {"aws.credentials.provider": "com.corp.Vault"}
        other = conf_of(store, tmp_path / "vault.yml", **vault)
        refused = binlake(other, "status", expected=2)
        assert "Vault" in refused
        assert "supported by Hadoop only" in " ".join(refused.split())
        with store.rejecting_all_keys():
            denied = " ".join(binlake(conf, "status", expected=1).split())
        assert LAKE in denied
        assert "credentials in spark.conf or in the environment" in denied
