"""The lease of a lake in S3 when its store fails, and when it must stop a run from committing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError

from pipeline.errors import ConcurrentRunError, SettingsError, UnreachableError
from pipeline.lake import delta
from pipeline.lake.delta_step import Step
from pipeline.lake.locks import lease
from pipeline.lake.locks.lease import only_writer, require_held
from pipeline.lake.stores import filesystem_of
from tests.support.lake.object_store import ObjectStore, object_store

LAKE = "s3a://lake/shop"
TABLE = f"{LAKE}/bronze/files"
OBJECT = "lake/shop/ledger/_run"
OTHER = b'{"host": "other", "process": 1, "run": "other"}'
ERRORS = [
    EndpointConnectionError(endpoint_url="http://store"),
    NoCredentialsError(),
    ClientError({"Error": {"Code": "418"}}, "PutObject"),
    OSError("the store is away"),
]

Put = Callable[..., Any]


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as store:
        store.files.mkdir("lake")
        yield store


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    yield started
    if started.files.exists(OBJECT):
        started.files.rm(OBJECT)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Put, Any], Any]], None]:
    """Route every write of the lease through a function, which gets the real one."""

    class Client:
        def __init__(self, files: Any, write: Callable[[Put, Any], Any]) -> None:
            self._files = files
            self._write = write

        def __getattr__(self, name: str) -> Any:
            return getattr(self._files, name)

        def pipe_file(self, path: str, content: bytes, **condition: Any) -> Any:
            return self._write(lambda **c: self._files.pipe_file(path, content, **c), condition)

    def through(write: Callable[[Put, Any], Any]) -> None:
        def client(location: str, *, key: str) -> tuple[Any, str]:
            files, path = filesystem_of(location, key=key)
            return Client(files, write), path

        monkeypatch.setattr(lease, "filesystem_of", client)

    return through


def wait(seconds: float) -> None:
    threading.Event().wait(seconds)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait at most half a minute: the machine may be busy."""
    for _ in range(600):
        if holds():
            return
        wait(0.05)
    pytest.fail("it never was")


def is_held() -> bool:
    try:
        require_held(TABLE)
    except ConcurrentRunError:
        return False
    return True


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_temporary_failure_of_the_store_is_tolerated(
    store: ObjectStore, put: Any, error: Exception
) -> None:
    failing = threading.Event()

    def write(real: Put, condition: Any) -> Any:
        if failing.is_set():
            raise error
        return real(**condition)

    put(write)
    with only_writer(LAKE, {}, renewed_every=0.05, dead_after=120):
        failing.set()
        wait(0.3)
        failing.clear()
        before = store.files.cat_file(OBJECT)
        wait_until(lambda: store.files.cat_file(OBJECT) != before)
        require_held(TABLE)


def test_a_run_without_renewal_for_half_the_time_commits_nothing(
    store: ObjectStore, put: Any
) -> None:
    failing = threading.Event()

    def write(real: Put, condition: Any) -> Any:
        if failing.is_set():
            raise EndpointConnectionError(endpoint_url="http://store")
        return real(**condition)

    put(write)
    done: list[str] = []
    with only_writer(LAKE, {}, renewed_every=0.05, dead_after=6):
        delta.commit(lambda: done.append("first"), TABLE, Step("a", 1))
        failing.set()
        wait_until(lambda: not is_held())
        for table in (TABLE, "`main`.`shop`.`t`", ""):
            with pytest.raises(ConcurrentRunError, match="has not confirmed this run's lease"):
                delta.commit(lambda: done.append("second"), table, Step("a", 2))
        require_held("/tmp/lake/bronze/files")
        require_held("s3a://lake/shop2/bronze/files")
        failing.clear()
        wait_until(is_held)
        delta.commit(lambda: done.append("third"), TABLE, Step("a", 3))
    require_held(TABLE)
    assert done == ["first", "third"]


def test_a_run_that_lost_its_lease_commits_nothing(store: ObjectStore) -> None:
    done: list[str] = []
    holding = only_writer(LAKE, {}, renewed_every=0.05)
    holding.__enter__()
    store.put(OBJECT, OTHER)
    wait_until(lambda: not is_held())
    with pytest.raises(ConcurrentRunError, match="lost the lease of s3a://lake/shop"):
        delta.commit(lambda: done.append("it"), TABLE, Step("a", 1))
    with pytest.raises(ConcurrentRunError, match="lost the lease of s3a://lake/shop"):
        holding.__exit__(None, None, None)
    assert not done


def test_a_run_that_lost_its_lease_unnoticed_fails_at_the_end(
    store: ObjectStore,
) -> None:
    with (
        pytest.raises(ConcurrentRunError, match="lost the lease of s3a://lake/shop"),
        only_writer(LAKE, {}, renewed_every=60),
    ):
        store.put(OBJECT, OTHER)
    assert store.files.cat_file(OBJECT) == OTHER


def test_a_write_whose_reply_was_lost_is_recognized(store: ObjectStore, put: Any) -> None:
    writes: list[Any] = []

    def write(real: Put, condition: Any) -> Any:
        written = real(**condition)
        writes.append(condition)
        if len(writes) in (1, 6):
            raise OSError("connection reset")
        return written

    put(write)
    with only_writer(LAKE, {}, renewed_every=0.05):
        wait_until(lambda: len(writes) > 8)
        require_held(TABLE)
    assert not store.files.exists(OBJECT)


def test_a_run_that_ends_while_watched_releases_the_lease(store: ObjectStore) -> None:
    store.put(OBJECT, OTHER)
    leaving = threading.Timer(0.5, lambda: store.files.rm(OBJECT))
    leaving.start()
    with only_writer(LAKE, {}, dead_after=30):
        assert json.loads(store.files.cat_file(OBJECT))["run"] != "other"


def test_a_run_that_ends_just_before_a_takeover_releases_the_lease(
    store: ObjectStore, put: Any
) -> None:
    store.put(OBJECT, b"not even JSON")
    left: list[bool] = []

    def write(real: Put, condition: Any) -> Any:
        if "IfMatch" in condition and not left:
            left.append(True)
            store.files.rm(OBJECT)
        return real(**condition)

    put(write)
    with only_writer(LAKE, {}, dead_after=0.3):
        assert left


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_store_that_cannot_be_reached_is_an_unreachable_error(
    store: ObjectStore, put: Any, error: Exception
) -> None:
    def write(real: Put, condition: Any) -> Any:
        raise error

    put(write)
    with pytest.raises(UnreachableError, match="cannot get the lease of") as error:
        only_writer(LAKE, {}).__enter__()
    assert "credentials (spark.conf or environment)" in error.value.remedy


@pytest.mark.parametrize("ignored", ["mode", "IfMatch"])
def test_a_store_that_ignores_conditions_is_refused(
    store: ObjectStore, put: Any, ignored: str
) -> None:
    def write(real: Put, condition: Any) -> Any:
        return real(**{key: value for key, value in condition.items() if key != ignored})

    put(write)
    with pytest.raises(SettingsError, match="does not honor conditional writes"):
        only_writer(LAKE, {}).__enter__()
    assert not store.files.exists(OBJECT)


@pytest.mark.parametrize(
    ("lake", "conf"),
    [
        ("s3://lake/shop", {}),
        ("s3n://lake/shop/", {}),
        ("S3A://lake/shop", {}),
        (LAKE, {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3SingleDriverLogStore"}),
        ("s3://lake/shop", {"spark.delta.logStore.s3a.impl": "io.delta.storage.Other"}),
    ],
)
def test_every_url_of_a_lake_in_s3_needs_a_lease(
    store: ObjectStore, lake: str, conf: dict[str, str]
) -> None:
    with only_writer(lake, conf):
        assert store.files.exists(OBJECT)
