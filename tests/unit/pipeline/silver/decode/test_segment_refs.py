from __future__ import annotations

import pytest

from pipeline.bronze.tables import FileRow
from pipeline.settings.settings import MIB
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.silver.decode.segment_tasks import are_even, chunks
from pipeline.silver.plan.new_segments import contiguous
from tests.support.bronze.bronze_rows import file_row


def ref(ordinal: int, start: int, end: int, stored_in: str = "") -> SegmentRef:
    return SegmentRef(f"binlog.{ordinal:06}", ordinal, start, end, 1, stored_in=(stored_in,))


def files(*complete: bool, fault: str | None = None) -> dict[int, FileRow]:
    return {
        number: file_row(f"binlog.{number:06}", number, complete=whole, fault=fault)
        for number, whole in enumerate(complete, 1)
    }


LOG = [ref(1, 0, 100), ref(1, 100, 250), ref(2, 0, 50), ref(3, 0, 10)]

WITHOUT_2 = {number: row for number, row in files(True, True, True).items() if number != 2}


@pytest.mark.parametrize(
    ("refs", "state", "mark", "taken", "gap"),
    [
        (LOG, files(True, True, False), None, 4, None),
        (LOG[1:], files(True, True, False), (1, 100), 3, None),
        # the current file has been read to its end
        (LOG[2:], files(True, True, False), (1, 250), 2, None),
        ([], {}, (1, 250), 0, None),
        # a lake may begin anywhere
        (LOG[2:], files(True, True, False), None, 2, None),
        # a missing file
        ([*LOG[:2], LOG[3]], WITHOUT_2, None, 2, "missing between binlog.000001"),
        # a file that is damaged, or was copied too early, with others after it
        (LOG, files(False, True, True, fault="bad CRC"), None, 2, "1000 and not complete"),
        (LOG, files(False, True, True, fault="bad CRC"), None, 2, "bad CRC"),
        # a hole
        ([LOG[0], ref(1, 150, 200)], files(False), None, 1, "lacks bytes 100 to 150"),
        (LOG[1:], files(True, True, False), (1, 50), 0, "lacks bytes 50 to 100"),
        # a file whose start is missing
        ([LOG[0], LOG[1], ref(2, 20, 50)], files(True, False), None, 2, "lacks bytes 0 to 20"),
    ],
)
def test_segments_are_taken_up_to_the_first_gap(
    refs: list[SegmentRef], state: dict[int, FileRow], mark: FilePosition | None, taken: int,
    gap: str | None,
) -> None:  # fmt: skip
    pending = contiguous(refs, state, mark)
    assert list(pending.segments) == refs[:taken]
    assert len(pending.gaps) == (gap is not None)
    assert (gap or "") in "".join(pending.gaps)


def test_accepted_gaps_are_passed_and_reported() -> None:
    state = files(False, True, True, fault="bad CRC")
    pending = contiguous(LOG, state, None, given_up={1})
    assert list(pending.segments) == LOG
    assert pending.gaps == ()
    ((following, gap),) = pending.given_up
    assert following == LOG[2]
    assert "bad CRC" in gap
    assert "given_up" not in gap
    assert contiguous(LOG, state, None, given_up={2}).segments == tuple(LOG[:2])
    # nothing is missing: there is no gap to accept
    assert contiguous(LOG, files(True, True, True), None, given_up={1, 2}).given_up == ()


def test_missing_bytes_in_bronze_cannot_be_accepted() -> None:
    refs = [LOG[0], LOG[1], ref(2, 20, 50)]
    assert contiguous(refs, files(True, False), None, given_up={1}).segments == tuple(LOG[:2])


def test_chunks_hold_segments_up_to_a_size() -> None:
    half = 1 << 29
    refs = [ref(1, n * half, (n + 1) * half) for n in range(5)]
    assert [len(chunk) for chunk in chunks(refs, tasks=1)] == [2, 2, 1]
    assert [r for chunk in chunks(refs, tasks=1) for r in chunk] == refs


def test_many_tasks_get_larger_chunks() -> None:
    refs = [ref(1, n * MIB, (n + 64) * MIB) for n in range(0, 4096, 64)]
    assert [len(chunk) for chunk in chunks(refs, tasks=10)] == [40, 24]


@pytest.mark.parametrize(
    ("sizes", "cores", "even"),
    [
        ([100], 1, True),
        ([100], 2, False),
        ([100, 100], 2, True),
        ([100, 60], 2, True),  # 100 instead of 80
        ([100, 59], 2, False),
        ([134] * 7 + [80], 2, True),
        ([134] * 9, 2, True),
        ([134] * 9, 4, False),
        # an archive, which one task of bronze reads, among files
        ([1000, *[134] * 7], 4, False),
        ([1, 1, 1, 97], 1, True),
    ],
)
def test_segments_stay_in_place_if_files_are_many_and_about_equal(
    sizes: list[int], cores: int, even: bool
) -> None:
    refs = [ref(1, 0, size - size // 2, f"{n}.parquet") for n, size in enumerate(sizes)]
    refs += [ref(1, 0, size // 2, f"{n}.parquet") for n, size in enumerate(sizes)]
    assert are_even(refs, cores) is even
