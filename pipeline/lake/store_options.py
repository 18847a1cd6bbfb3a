"""Translation of Hadoop's store settings in spark.conf to options of delta-rs and fsspec.

Hadoop reads `spark.hadoop.fs.…` itself. Here the same keys become delta-rs's and fsspec's options,
with S3's endpoint from the environment if it has none. Keys that select credentials in a way that
only Hadoop supports are refused: the other clients would silently use other credentials.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.errors import SettingsError

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
"""The variables from which AWS's clients and s3fs read the endpoint; the first one set wins."""
REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
DEFAULT_REGION = "us-east-1"
HADOOP = "spark.hadoop."
"""The prefix of Hadoop's settings in Spark's conf."""
STORE_KEYS = ("fs.s3a.", "fs.gs.", "google.cloud.auth.", "fs.azure.", "hadoop.security.credential.")
"""Prefixes of Hadoop's store settings."""

_PLAIN_PROVIDERS = frozenset({"SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider"})
_ENVIRONMENT_PROVIDERS = frozenset(
    {
        "EnvironmentVariableCredentialsProvider",
        "DefaultCredentialsProvider",
        "DefaultAWSCredentialsProviderChain",
    }
)
_MACHINE_PROVIDERS = frozenset(
    {
        *("IAMInstanceCredentialsProvider", "InstanceProfileCredentialsProvider"),
        *("ContainerCredentialsProvider", "EC2ContainerCredentialsProviderWrapper"),
        *("WebIdentityTokenFileCredentialsProvider", "WebIdentityTokenCredentialsProvider"),
        "ProfileCredentialsProvider",
    }
)
_ANONYMOUS = "AnonymousAWSCredentialsProvider"
_KMS = "aws:kms"
_NEW_NAMES = {
    "server-side-encryption-algorithm": "encryption.algorithm",
    "server-side-encryption.key": "encryption.key",
}
_ENCRYPTION_ALGORITHMS = {"AES256": "AES256", "SSE-KMS": _KMS}
_AWS_ENDPOINT = re.compile(r"(?:https?://)?s3(?:[.-]([a-z]+(?:-[a-z]+)+-\d+))?\.amazonaws\.com/?")
_AZURE_ENDPOINT = re.compile(r"https?://[^/]+/([^/]+)/oauth2(?:/v2\.0)?/token/?")


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """delta-rs's `storage_options` and fsspec's keyword arguments for one location."""

    delta: dict[str, str] = field(default_factory=dict, repr=False)
    fsspec: dict[str, Any] = field(default_factory=dict, repr=False)


def store_keys(conf: Mapping[str, str]) -> dict[str, str]:
    """Return Hadoop's store settings in Spark's conf, by Hadoop's names."""
    hadoop = {k.removeprefix(HADOOP): v for k, v in conf.items() if k.startswith(HADOOP)}
    return {key: value for key, value in hadoop.items() if key.startswith(STORE_KEYS)}


def options_of(
    location: str, keys: Mapping[str, str], environment: Mapping[str, str]
) -> StoreOptions:
    """Return the options for a path or URL; none for local disks and unknown stores.

    `keys`: as returned by `store_keys`. Raises SettingsError for keys that only Hadoop supports.
    """
    protocol, separator, rest = location.partition("://")
    store = _STORES.get(protocol) if separator else None
    if store is None:
        return StoreOptions()
    if "hadoop.security.credential.provider.path" in keys:
        raise _only_hadoop("hadoop.security.credential.provider.path", "a credential store")
    return store(rest.partition("/")[0], keys, environment)


def _s3(bucket: str, keys: Mapping[str, str], environment: Mapping[str, str]) -> StoreOptions:
    prefix = f"fs.s3a.bucket.{bucket}."
    every = {k.removeprefix("fs.s3a."): v for k, v in keys.items() if k.startswith("fs.s3a.")}
    own = {k.removeprefix(prefix): v for k, v in keys.items() if k.startswith(prefix)}
    found = {
        key: value.strip()
        for key, value in {**_current_names(every), **_current_names(own)}.items()
    }
    options = StoreOptions()
    _add_s3_place(options, found, environment)
    _add_s3_encryption(options, found)
    _add_s3_account(options, found, environment)
    return options


def _current_names(keys: Mapping[str, str]) -> dict[str, str]:
    """Rename S3's deprecated settings to Hadoop's current names, which win if both are given."""
    return {**{_NEW_NAMES.get(name, name): value for name, value in keys.items()}, **keys}


def _add_s3_encryption(options: StoreOptions, found: Mapping[str, str]) -> None:
    """Add the options for server-side encryption; none if the bucket decides.

    The algorithms' names are in Hadoop's "Working with Encrypted S3 Data".
    """
    given = found.get("encryption.algorithm")
    if not given:
        return
    algorithm = _ENCRYPTION_ALGORITHMS.get(given.upper())
    if algorithm is None:
        raise _only_hadoop("fs.s3a.encryption.algorithm", given)
    options.delta["aws_server_side_encryption"] = algorithm
    options.fsspec["s3_additional_kwargs"] = arguments = {"ServerSideEncryption": algorithm}
    key = found.get("encryption.key")
    if key and algorithm == _KMS:
        options.delta["aws_sse_kms_key_id"] = arguments["SSEKMSKeyId"] = key


def _add_s3_place(
    options: StoreOptions, found: Mapping[str, str], environment: Mapping[str, str]
) -> None:
    """Add the options for endpoint and region; none for AWS, whose region the clients find."""
    endpoint = found.get("endpoint") or _first(ENDPOINTS, environment)
    region = found.get("endpoint.region") or _first(REGIONS, environment)
    if endpoint and (aws := _AWS_ENDPOINT.fullmatch(endpoint)):
        region = aws[1] or region
        endpoint = endpoint if aws[1] else None  # the global endpoint: the clients find the region
    if endpoint:
        region = region or DEFAULT_REGION
        if "://" not in endpoint:
            secure = found.get("connection.ssl.enabled", "true").lower() != "false"
            endpoint = f"{'https' if secure else 'http'}://{endpoint}"
    if region:
        options.delta["aws_region"] = region
        options.fsspec["client_kwargs"] = {"region_name": region}
    if endpoint:
        options.delta["aws_endpoint_url"] = options.fsspec["endpoint_url"] = endpoint
        options.delta["aws_allow_http"] = str(endpoint.startswith("http://")).lower()
    if found.get("path.style.access", "").lower() == "true":
        options.delta["aws_virtual_hosted_style_request"] = "false"
        options.fsspec["config_kwargs"] = {"s3": {"addressing_style": "path"}}


def _add_s3_account(
    options: StoreOptions, found: Mapping[str, str], environment: Mapping[str, str]
) -> None:
    """Add the options for the settings' credentials; none if they come from the environment."""
    for key, about in (
        ("security.credential.provider.path", "a credential store"),
        ("assumed.role.arn", "a role that Hadoop assumes"),
    ):
        if found.get(key):
            raise _only_hadoop(f"fs.s3a.{key}", about)
    given = found.get("aws.credentials.provider", "")
    names = [name.strip().rpartition(".")[2] for name in given.split(",") if name.strip()]
    known = _PLAIN_PROVIDERS | _ENVIRONMENT_PROVIDERS | _MACHINE_PROVIDERS | {_ANONYMOUS}
    if unknown := [name for name in names if name not in known]:
        raise _only_hadoop("fs.s3a.aws.credentials.provider", ", ".join(unknown))
    access, secret = found.get("access.key"), found.get("secret.key")
    if bool(access) != bool(secret):
        raise SettingsError(
            "only one of fs.s3a.access.key and fs.s3a.secret.key is set.",
            key="spark.conf",
            remedy="Set both, or neither to use the credentials of the environment.",
        )
    if access and secret and (not names or _PLAIN_PROVIDERS & {*names}):
        _add_s3_keys(options, access, secret, found.get("session.token"), environment)
    elif names == [_ANONYMOUS]:
        options.delta["aws_skip_signature"] = "true"
        options.fsspec["anon"] = True
    elif (
        names
        and not _ENVIRONMENT_PROVIDERS & {*names}
        and environment.get("AWS_ACCESS_KEY_ID")
        and not environment.get("AWS_PROFILE")
    ):
        raise SettingsError(
            f"fs.s3a.aws.credentials.provider is {', '.join(names)}, but the environment has"
            " AWS_ACCESS_KEY_ID: Spark would use other credentials than the other clients.",
            key="spark.conf",
            remedy="Unset AWS_ACCESS_KEY_ID, or remove fs.s3a.aws.credentials.provider.",
        )


def _add_s3_keys(
    options: StoreOptions,
    access: str,
    secret: str,
    token: str | None,
    environment: Mapping[str, str],
) -> None:
    if not token and environment.get("AWS_SESSION_TOKEN"):
        raise SettingsError(
            "fs.s3a.access.key is set without fs.s3a.session.token, but the environment has"
            " AWS_SESSION_TOKEN, which belongs to other keys.",
            key="spark.conf",
            remedy="Unset AWS_SESSION_TOKEN, or set the keys only there or only in spark.conf.",
        )
    options.delta["aws_access_key_id"] = options.fsspec["key"] = access
    options.delta["aws_secret_access_key"] = options.fsspec["secret"] = secret
    if token:
        options.delta["aws_session_token"] = options.fsspec["token"] = token


def _gs(bucket: str, keys: Mapping[str, str], environment: Mapping[str, str]) -> StoreOptions:
    kind = keys.get("fs.gs.auth.type", "").upper()
    names = ("fs.gs.auth", "google.cloud.auth")
    file = _first([f"{name}.service.account.json.keyfile" for name in names], keys)
    if kind == "UNAUTHENTICATED":
        return StoreOptions({"google_skip_signature": "true"}, {"token": "anon"})
    if kind in ("", "SERVICE_ACCOUNT_JSON_KEYFILE") and file:
        return StoreOptions({"google_service_account": file}, {"token": file})
    if kind in ("", "APPLICATION_DEFAULT"):
        return StoreOptions()
    if kind == "COMPUTE_ENGINE" and not environment.get("GOOGLE_APPLICATION_CREDENTIALS"):
        return StoreOptions()
    raise _only_hadoop("fs.gs.auth.type", kind)


def _azure(place: str, keys: Mapping[str, str], environment: Mapping[str, str]) -> StoreOptions:
    host = place.rpartition("@")[2]
    if "@" not in place:
        host = f"{environment.get('AZURE_STORAGE_ACCOUNT_NAME', '')}.dfs.core.windows.net"

    def given(name: str) -> str | None:
        """Return a setting for this account, or else the one for all accounts."""
        return keys.get(f"{name}.{host}") or keys.get(name)

    kind = (given("fs.azure.account.auth.type") or "").lower()
    key, token = given("fs.azure.account.key"), given("fs.azure.sas.fixed.token")
    client = given("fs.azure.account.oauth2.client.id")
    if kind == "sharedkey" or (not kind and key):
        return _azure_options(kind, "fs.azure.account.key", account_key=key)
    if kind == "sas" or (not kind and token):
        return _azure_options(kind, "fs.azure.sas.fixed.token", sas_token=token)
    if kind == "oauth":
        endpoint = given("fs.azure.account.oauth2.client.endpoint") or ""
        tenant = _AZURE_ENDPOINT.fullmatch(endpoint)
        return _azure_options(
            kind,
            "fs.azure.account.oauth2.client.id, .secret and .endpoint",
            client_id=client,
            client_secret=given("fs.azure.account.oauth2.client.secret"),
            tenant_id=tenant[1] if tenant else None,
        )
    if kind:
        raise _only_hadoop("fs.azure.account.auth.type", kind)
    return StoreOptions()


def _azure_options(kind: str, names: str, **options: str | None) -> StoreOptions:
    there = {name: value for name, value in options.items() if value}
    if len(there) < len(options):
        raise _only_hadoop(
            f"fs.azure.account.auth.type {kind} without {names}", "a method of its own"
        )
    return StoreOptions({f"azure_storage_{name}": v for name, v in there.items()}, dict(there))


def _first(names: tuple[str, ...] | list[str], values: Mapping[str, str]) -> str | None:
    return next((values[name] for name in names if values.get(name)), None)


def _only_hadoop(key: str, value: str) -> SettingsError:
    return SettingsError(
        f"{key} ({value}) is supported by Hadoop only: bronze and silver, which are written by"
        " Python, would use other credentials or options.",
        key="spark.conf",
        remedy="Remove this setting, and set the store's keys in spark.conf, or a profile or role"
        " in the environment (docs/guides/object-stores.md).",
    )


_STORES: dict[str, Callable[[str, Mapping[str, str], Mapping[str, str]], StoreOptions]] = {
    **dict.fromkeys(("s3", "s3a"), _s3),
    **dict.fromkeys(("gs", "gcs"), _gs),
    **dict.fromkeys(("abfs", "abfss", "az"), _azure),
}
