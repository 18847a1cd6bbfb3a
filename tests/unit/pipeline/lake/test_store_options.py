"""Translation of Hadoop's store settings for delta-rs and fsspec."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.lake.store_options import options_of, store_keys
from pipeline.lake.stores import VARIABLE, hadoop_conf, options_for, use_conf
from pipeline.observe import redact
from pipeline.observe.redaction import is_secret

KEYS = {"fs.s3a.access.key": "id", "fs.s3a.secret.key": "secret"}
DELTA_KEYS = {"aws_access_key_id": "id", "aws_secret_access_key": "secret"}
FSSPEC_KEYS = {"key": "id", "secret": "secret"}
MINIO = {"AWS_ENDPOINT_URL": "http://minio:9000"}
ACCOUNT = "shop.dfs.core.windows.net"
ADLS = f"abfss://lake@{ACCOUNT}/x"
LOGIN = "fs.azure.account.oauth2.client"
PROVIDER = "fs.s3a.aws.credentials.provider"


@pytest.mark.parametrize(
    ("location", "keys", "environment", "delta", "fsspec"),
    [
        ("/lake", KEYS, MINIO, {}, {}),
        ("hdfs://lake", KEYS, MINIO, {}, {}),
        ("s3a://lake", {}, {}, {}, {}),
        ("s3a://lake/x", KEYS, {}, DELTA_KEYS, FSSPEC_KEYS),
        ("s3://lake", KEYS, {"AWS_ACCESS_KEY_ID": "other"}, DELTA_KEYS, FSSPEC_KEYS),
        (
            "s3a://lake",
            {**KEYS, "fs.s3a.session.token": "t"},
            {},
            {**DELTA_KEYS, "aws_session_token": "t"},
            {**FSSPEC_KEYS, "token": "t"},
        ),
        (
            "s3a://lake",
            {
                "fs.s3a.endpoint": "ceph:80",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.path.style.access": "true",
                "fs.s3a.endpoint.region": "eu",
            },
            MINIO,
            {
                "aws_region": "eu",
                "aws_endpoint_url": "http://ceph:80",
                "aws_allow_http": "true",
                "aws_virtual_hosted_style_request": "false",
            },
            {
                "client_kwargs": {"region_name": "eu"},
                "endpoint_url": "http://ceph:80",
                "config_kwargs": {"s3": {"addressing_style": "path"}},
            },
        ),
        (
            "s3a://lake",
            {},
            MINIO,
            {
                "aws_region": "us-east-1",
                "aws_endpoint_url": "http://minio:9000",
                "aws_allow_http": "true",
            },
            {"client_kwargs": {"region_name": "us-east-1"}, "endpoint_url": "http://minio:9000"},
        ),
        (
            "s3a://lake",
            {
                "fs.s3a.access.key": "all",
                "fs.s3a.secret.key": "all",
                "fs.s3a.bucket.lake.access.key": "id",
                "fs.s3a.bucket.lake.secret.key": "secret",
                "fs.s3a.bucket.logs.access.key": "no",
                "fs.s3a.bucket.logs.secret.key": "no",
            },
            {},
            DELTA_KEYS,
            FSSPEC_KEYS,
        ),
        (
            "s3a://lake",
            {"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"},
            {},
            {
                "aws_region": "eu-west-1",
                "aws_endpoint_url": "https://s3.eu-west-1.amazonaws.com",
                "aws_allow_http": "false",
            },
            {
                "client_kwargs": {"region_name": "eu-west-1"},
                "endpoint_url": "https://s3.eu-west-1.amazonaws.com",
            },
        ),
        ("s3a://lake", {"fs.s3a.endpoint": "s3.amazonaws.com"}, {}, {}, {}),
        (
            "s3a://open",
            {PROVIDER: "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
            {},
            {"aws_skip_signature": "true"},
            {"anon": True},
        ),
        (
            "s3a://lake",
            {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "arn:k"},
            {},
            {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "arn:k"},
            {"s3_additional_kwargs": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "arn:k"}},
        ),
        (
            "s3a://lake",
            {
                "fs.s3a.encryption.algorithm": "SSE-KMS",
                "fs.s3a.bucket.lake.server-side-encryption-algorithm": "AES256",
            },
            {},
            {"aws_server_side_encryption": "AES256"},
            {"s3_additional_kwargs": {"ServerSideEncryption": "AES256"}},
        ),
        (
            "s3a://lake",
            {
                "fs.s3a.server-side-encryption.key": "arn:k",
                "fs.s3a.bucket.lake.encryption.algorithm": "SSE-KMS",
            },
            {},
            {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "arn:k"},
            {"s3_additional_kwargs": {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": "arn:k"}},
        ),
        (
            "gs://lake",
            {"google.cloud.auth.service.account.json.keyfile": "/k.json"},
            {},
            {"google_service_account": "/k.json"},
            {"token": "/k.json"},
        ),
        ("gcs://lake", {"fs.gs.auth.type": "APPLICATION_DEFAULT"}, {}, {}, {}),
        (
            ADLS,
            {f"fs.azure.account.key.{ACCOUNT}": "k", "fs.azure.account.key.else": "no"},
            {},
            {"azure_storage_account_key": "k"},
            {"account_key": "k"},
        ),
        (
            "az://lake/x",
            {f"fs.azure.account.key.{ACCOUNT}": "k"},
            {"AZURE_STORAGE_ACCOUNT_NAME": "shop"},
            {"azure_storage_account_key": "k"},
            {"account_key": "k"},
        ),
        (
            ADLS,
            {f"fs.azure.account.auth.type.{ACCOUNT}": "SAS", "fs.azure.sas.fixed.token": "sig"},
            {},
            {"azure_storage_sas_token": "sig"},
            {"sas_token": "sig"},
        ),
        (
            ADLS,
            {
                "fs.azure.account.auth.type": "OAuth",
                f"{LOGIN}.id": "c",
                f"{LOGIN}.secret.{ACCOUNT}": "s",
                f"{LOGIN}.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
            },
            {},
            {
                "azure_storage_client_id": "c",
                "azure_storage_client_secret": "s",
                "azure_storage_tenant_id": "tenant",
            },
            {"client_id": "c", "client_secret": "s", "tenant_id": "tenant"},
        ),
    ],
)
def test_all_clients_use_the_same_credentials_and_store(
    location: str,
    keys: dict[str, str],
    environment: dict[str, str],
    delta: dict[str, str],
    fsspec: dict[str, Any],
) -> None:
    options = options_of(location, keys, environment)
    assert (options.delta, options.fsspec) == (delta, fsspec)


@pytest.mark.parametrize(
    ("location", "keys", "environment", "message"),
    [
        ("s3a://x", {PROVIDER: "com.corp.Vault"}, {}, r"provider \(Vault\) is supported by Hadoop"),
        ("s3a://x", {"fs.s3a.assumed.role.arn": "arn:x"}, {}, "role that Hadoop assumes"),
        ("s3a://x", {"fs.s3a.encryption.algorithm": "SSE-C"}, {}, r"algorithm \(SSE-C\)"),
        ("s3a://x", {"fs.s3a.encryption.algorithm": "CSE-KMS"}, {}, r"algorithm \(CSE-KMS\)"),
        ("s3a://x", {"hadoop.security.credential.provider.path": "j"}, {}, "credential store"),
        ("s3a://x", {"fs.s3a.access.key": "id"}, {}, "only one of"),
        ("s3a://x", KEYS, {"AWS_SESSION_TOKEN": "t"}, "belongs to other keys"),
        (
            "s3a://x",
            {PROVIDER: "software.amazon.awssdk.auth.credentials.ContainerCredentialsProvider"},
            {"AWS_ACCESS_KEY_ID": "other"},
            "other credentials",
        ),
        ("gs://x", {"fs.gs.auth.type": "USER_CREDENTIALS"}, {}, "USER_CREDENTIALS"),
        (ADLS, {"fs.azure.account.auth.type": "Custom"}, {}, "custom"),
        (ADLS, {"fs.azure.account.auth.type": "OAuth"}, {}, "oauth without"),
    ],
)
def test_credentials_that_only_hadoop_supports_are_refused(
    location: str, keys: dict[str, str], environment: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as error:
        options_of(location, keys, environment)
    assert error.value.key == "spark.conf"
    assert error.value.remedy


def test_workers_get_confs_settings_under_a_name_that_hides_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ})
    conf = {f"spark.hadoop.{key}": value for key, value in KEYS.items()}
    use_conf({**conf, "spark.ui.enabled": "false"})
    given = hadoop_conf(os.environ)
    worker = {VARIABLE: given[f"spark.executorEnv.{VARIABLE}"]}
    assert options_for("s3a://lake", worker).delta == DELTA_KEYS
    assert is_secret(VARIABLE)
    assert "secret" in VARIABLE.lower(), "which Spark's own pages hide"
    assert "secret" not in repr(options_for("s3a://lake", worker))
    assert hadoop_conf(os.environ, workers_elsewhere=False) == {}, "no command line shows keys"
    use_conf({"spark.ui.enabled": "false"})
    assert VARIABLE not in os.environ


def test_keys_are_masked_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ})
    use_conf({"spark.hadoop.fs.s3a.secret.key": "wJalrXUtnFEMI"})
    assert redact("denied to wJalrXUtnFEMI") == "denied to ***"


def test_other_settings_are_not_passed_on() -> None:
    conf = {"spark.hadoop.fs.s3a.access.key": "id", "fs.s3a.x": "y", "spark.hadoop.io.file": "z"}
    assert store_keys(conf) == {"fs.s3a.access.key": "id"}
