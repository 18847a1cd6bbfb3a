"""Redaction of secrets in any form in which a message may contain them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from pipeline.observe.redaction import Redaction, is_secret
from pipeline.settings import Settings

PASSWORD = "0123456789abcdef" * 4
ODD = 'wJalr"XUtn\\FEMI'


@pytest.fixture
def redact() -> Redaction:
    settings = Settings.load(
        None,
        encryption={"passwords": {"binlog.000001": PASSWORD}},
        binlogs="ftp://reader:in/the@url@host/logs",
        spark={
            "master": "sc://host:15002/;token=connected",
            "conf": {
                "spark.hadoop.fs.s3a.secret.key": ODD,
                "spark.hadoop.fs.azure.account.key.x": "c2VjcmV0",
                "spark.hadoop.fs.azure.sas.logs.shop.blob.core.windows.net": "sv2024signed",
                "spark.hadoop.fs.s3a.encryption.key": "a2V5LW9mLXMz",
                "fs.gs.auth.service.account.private.key": "-----BEGIN",
                "spark.master.token": "true",
                "spark.some.password": "source",
                "spark.other.password": "123456",
                "spark.short.password": "abc",
                "spark.local.dir": "/fast/disk",
            },
        },
    )
    environment = {
        "AWS_SECRET_ACCESS_KEY": "from-outside",
        "MYSQL_PWD": "hunter2!",
        "AZURE_STORAGE_KEY": "azure-key",
        "AZURE_STORAGE_CONNECTION_STRING": "UseDevelopmentStorage",
        "HOME": "/home/me",
        "PWD": "/home/me/here",
    }
    return Redaction(settings.secrets, environment)


@pytest.mark.parametrize(
    "secret",
    [
        *(PASSWORD, ODD, "c2VjcmV0", "from-outside", "hunter2!", "azure-key", "a2V5LW9mLXMz"),
        *("UseDevelopmentStorage", "sv2024signed", "-----BEGIN", "123456"),
        *("in/the@url", "connected"),
    ],
)
def test_known_secrets_are_replaced(redact: Redaction, secret: str) -> None:
    assert redact(f"cannot open it with {secret}.") == "cannot open it with ***."
    assert json.loads(redact(json.dumps({"at": secret}))) == {"at": "***"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("s3://AKIA:abc/def@bucket/logs", "s3://***@bucket/logs"),
        ("s3a://AKIA:5/def@bucket/logs", "s3a://***@bucket/logs"),
        ("s3://AKIA:a/b@bucket", "s3://***@bucket"),
        ("s3://AKIA:abcdef@bucket/logs", "s3://***@bucket/logs"),
        ("ftp://me:p@ss@host/logs", "ftp://***@host/logs"),
        ("ftp://me:p@s/s@host/logs", "ftp://***@host/logs"),
        ("https://ghp_0a1b@host/logs", "https://***@host/logs"),
        ("https://user@shop/logs", "https://***@shop/logs"),
        ("https://host/f?a=1&sig=x%2Fy&b=2", "https://host/f?a=1&sig=***&b=2"),
        ("https://host/f?X-Amz-Signature=0a1b'", "https://host/f?X-Amz-Signature=***'"),
        ("https://host/f?access_token=0a1b&b=2", "https://host/f?access_token=***&b=2"),
        ("sc://host:15002/;token=0a1b;user_id=me", "sc://host:15002/;token=***;user_id=me"),
        ("AccountName=shop;AccountKey=a+b/c==;E=f", "AccountName=shop;AccountKey=***;E=f"),
        ("fs.s3a.secret.key='a b', next", "fs.s3a.secret.key=***, next"),
        ('{"password": "a b", "n": 1}', '{"password": "***", "n": 1}'),
    ],
)
def test_texts_in_the_form_of_a_secret_are_replaced(
    redact: Redaction, text: str, clean: str
) -> None:
    assert redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "true of /fast/disk and /home/me/here, at s3://bucket/logs?part=1",
        "the source has 1234567 bytes, abc of them bad",
        "http://host:8080/a@b",
        "Give --server mysql://user@host:port, or a URL such as mysql://user@host:3306.",
        "http://host:8080",
        "abfss://container@account.dfs.core.windows.net/lake",
        "s3://bucket/logs@2/binlog.000001",
        "encryption.passwords.binlog.000001: is not a file password: expects 64 hexadecimal digits",
    ],
)
def test_other_texts_are_kept(redact: Redaction, text: str) -> None:
    assert redact(text) == text


def test_only_strings_in_a_value_are_redacted(redact: Redaction) -> None:
    value: Any = {"from-outside": [1, "from-outside"], "bytes": 123456, "at": None, "ok": True}
    assert redact.value(value) == {
        "from-outside": [1, "***"],
        "bytes": 123456,
        "at": None,
        "ok": True,
    }


def test_secrets_learned_later_are_redacted_too(redact: Redaction) -> None:
    assert redact("one and opensesame") == "one and opensesame"
    redact.learn(["opensesame"])
    assert redact("one and opensesame") == "one and ***"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(("MYSQL_PWD", True), ("PWD", False), ("OLDPWD", False), ("DB_PASS", True)),
        *(("fs.s3a.access.key", True), ("fs.s3a.aws.credentials.provider", False)),
        *(("AWS_WEB_IDENTITY_TOKEN_FILE", False), ("fs.azure.sas.c.a.net", True)),
        *(("spark.ssl.keyPassword", True), ("spark.sql.shuffle.partitions", False)),
    ],
)
def test_names_of_secrets_are_recognized(name: str, secret: bool) -> None:
    assert is_secret(name) is secret


@pytest.mark.parametrize("part", ["token", "://a:b", "s3://", "s3://k:", "'secret", "://a@", "x"])
def test_no_text_takes_long(redact: Redaction, part: str) -> None:
    began = time.monotonic()
    redact(part * 20_000)
    assert time.monotonic() - began < 10
