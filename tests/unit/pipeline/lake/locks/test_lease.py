"""Two runs on a lake in S3: the second one is refused, and the lease of a dead one taken over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake.locks.lease import only_writer, require_held
from tests.support.lake.object_store import ObjectStore, object_store

LAKE = "s3a://lake/shop"
SHARED = {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}
OBJECT = "lake/shop/ledger/_run"


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as store:
        store.files.mkdir("lake")
        yield store


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    return started


def test_a_second_run_is_refused_while_the_first_one_lives(store: ObjectStore) -> None:
    with only_writer(LAKE, {}, renewed_every=0.1):
        assert store.files.exists(OBJECT)
        with (
            pytest.raises(ConcurrentRunError, match="is writing s3a://lake/shop: process") as error,
            only_writer(LAKE, {}, dead_after=20),
        ):
            pytest.fail("two runs at once")
        assert error.value.retryable
    assert not store.files.exists(OBJECT)
    with only_writer(LAKE, {}):
        assert store.files.exists(OBJECT)


def test_the_lease_of_a_dead_run_is_taken_over_by_one_run(store: ObjectStore) -> None:
    store.put(OBJECT, b'{"host": "gone", "process": 1}')
    taken = []

    def run() -> None:
        with only_writer(LAKE, {}, renewed_every=0.1, dead_after=2):
            taken.append(threading.get_ident())
            threading.Event().wait(4)

    refused: list[ConcurrentRunError] = []

    def refusable() -> None:
        try:
            run()
        except ConcurrentRunError as error:
            refused.append(error)

    threads = [threading.Thread(target=refusable) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(taken), len(refused)) == (1, 2)
    assert not store.files.exists(OBJECT)


def test_a_run_considered_dead_fails_and_leaves_the_new_lease_alone(
    store: ObjectStore,
) -> None:
    holding = only_writer(LAKE, {}, renewed_every=0.1)
    holding.__enter__()
    store.put(OBJECT, b'{"host": "other", "process": 1}')
    until = time.monotonic() + 60
    with suppress(LakeLostError):
        while time.monotonic() < until:
            require_held(f"{LAKE}/silver")
            time.sleep(0.05)
    with pytest.raises(ConcurrentRunError, match="lost the lease of s3a://lake/shop"):
        holding.__exit__(None, None, None)
    assert store.files.cat_file(OBJECT) == b'{"host": "other", "process": 1}'
    store.files.rm(OBJECT)


@pytest.mark.parametrize(
    ("lake", "conf"),
    [
        ("/lake", {}),
        ("gs://lake/x", {}),
        (LAKE, {"spark.delta.logStore.s3a.impl": "io.delta.storage.S3DynamoDBLogStore"}),
    ],
)
def test_other_stores_need_no_lease(store: ObjectStore, lake: str, conf: dict[str, str]) -> None:
    with only_writer(lake, conf):
        assert not store.files.exists(OBJECT)
