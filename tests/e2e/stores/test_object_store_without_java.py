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
import json, os, sys
def forbid(event, arguments):
    if event == "subprocess.Popen" and any(
        name in str(arguments[:2]) for name in ("spark-submit", "spark-class", "java")
    ):
        os.write(2, b"Java is started")
        os._exit(97)
sys.addaudithook(forbid)
from pipeline.cli.app import main
for arguments in json.loads(sys.argv[1]):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        print(end=f"\\0{ended.code}\\0", flush=True)
        print(end="\\0\\0", file=sys.stderr, flush=True)
"""


def binlake(*commands: tuple[Path, str, int]) -> list[str]:
    """Run commands one after the other in one process, without environment variables for the store:
    each with its conf, and the exit code it has to end with. Return the output of each."""
    environment = {name: value for name, value in os.environ.items() if "AWS_" not in name}
    places = [[*text.split(), "--conf", str(conf), "--lake", LAKE] for conf, text, _ in commands]
    done = subprocess.run(
        [sys.executable, "-c", NO_JAVA, json.dumps(places)],
        env={**environment, "AWS_EC2_METADATA_DISABLED": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert not any(secret in output for secret in CREDENTIALS.values())
    printed, errors = done.stdout.split("\0"), done.stderr.split("\0")[::2]
    assert printed[1::2] == [str(expected) for _, _, expected in commands], output[-3000:]
    return [
        text + error if expected else text
        for (_, _, expected), text, error in zip(commands, printed[::2], errors, strict=False)
    ]


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
        vault = {"aws.credentials.provider": "com.corp.Vault"}
        other = conf_of(store, tmp_path / "vault.yml", **vault)
        binlake(
            (conf, "ingest --source shop --binlogs s3://logs", 0), (conf, "decode --source shop", 0)
        )
        shown, listed, refused = binlake(
            (conf, "status --json", 0), (conf, "runs --json", 0), (other, "status", 2)
        )
        assert [one["source"] for one in json.loads(shown)["sources"]] == ["shop"]
        runs = map(json.loads, listed.splitlines())
        assert {run["command"] for run in runs} == {"ingest", "decode"}
        assert "Vault" in refused
        assert "supported by Hadoop only" in " ".join(refused.split())
        assert store.files.find("lake/shop/silver/transactions")
        for path in store.files.find("lake/shop"):
            content = store.files.cat_file(path)
            assert not any(secret.encode() in content for secret in CREDENTIALS.values()), path
        with store.rejecting_all_keys():
            denied = " ".join(binlake((conf, "status", 1))[0].split())
        assert LAKE in denied
        assert "credentials in spark.conf or in the environment" in denied
