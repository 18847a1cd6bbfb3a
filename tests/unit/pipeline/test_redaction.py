"""Secrets are not in what others read, in whatever form a message has them."""

from __future__ import annotations

import json

import pytest

from pipeline.redaction import Redaction
from pipeline.settings import Settings

PASSWORD = "0123456789abcdef" * 4
ODD = 'wJalr"XUtn\\FEMI'


@pytest.fixture
def redact() -> Redaction:
    settings = Settings.load(
        None,
        encryption={"passwords": {"binlog.000001": PASSWORD}},
        spark={
            "conf": {
                "spark.hadoop.fs.s3a.secret.key": ODD,
                "spark.hadoop.fs.azure.account.key.x": "c2VjcmV0",
                "spark.master.token": "true",
                "spark.local.dir": "/fast/disk",
            }
        },
    )
    return Redaction.of(settings, {"AWS_SECRET_ACCESS_KEY": "from-outside", "HOME": "/home/me"})


@pytest.mark.parametrize("secret", [PASSWORD, ODD, "c2VjcmV0", "from-outside"])
def test_what_is_known_to_be_a_secret_is_replaced(redact: Redaction, secret: str) -> None:
    assert redact(f"cannot open it with {secret}.") == "cannot open it with ***."
    assert json.loads(redact(json.dumps({"at": secret}))) == {"at": "***"}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("s3://AKIA:abc/def@bucket/logs", "s3://***@bucket/logs"),
        ("s3://AKIA:abcdef@bucket/logs", "s3://***@bucket/logs"),
        ("https://host/f?a=1&sig=x%2Fy&b=2", "https://host/f?a=1&sig=***&b=2"),
        ("https://host/f?X-Amz-Signature=0a1b'", "https://host/f?X-Amz-Signature=***'"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
    ],
)
def test_a_url_loses_what_opens_it(redact: Redaction, text: str, clean: str) -> None:
    assert redact(text) == clean


def test_words_that_are_no_secrets_stay(redact: Redaction) -> None:
    told = "true of /fast/disk and /home/me, at s3://bucket/logs?part=1"
    assert redact(told) == told
