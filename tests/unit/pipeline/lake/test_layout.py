"""The lake's root folder, and the encoding of names as paths."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pipeline.errors import MissingRequirementError
from pipeline.lake import Lake
from pipeline.lake.layout import encode_name, encode_part, is_lake, require_writable


def test_a_missing_folder_is_created(tmp_path: Path) -> None:
    require_writable(f"file://{tmp_path}/a/lake")
    assert (tmp_path / "a" / "lake").is_dir()


@pytest.mark.parametrize("place", ["file", "file/lake"])
def test_a_path_that_cannot_be_a_folder_is_an_error_with_a_sentence(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        MissingRequirementError, match=f"cannot create the lake's folder .*{place}: "
    ):
        require_writable(str(tmp_path / place))


def test_a_folder_of_another_user_is_an_error_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(MissingRequirementError, match="cannot be written by this user"):
        require_writable(str(tmp_path))


@given(st.text(min_size=1), st.text(min_size=1))
def test_encoded_path_parts_are_unique_in_any_file_system(one: str, other: str) -> None:
    part = encode_part(one)
    assert re.fullmatch("[A-Za-z0-9_.!-]+", part)
    assert part not in (".", "..")
    assert (part == encode_part(other)) == (one == other)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("order_items-2.x", "order_items-2.x"),
        ("Ü", "!C3!9C"),
        ("a b/c%20", "a!20b!2Fc!2520"),
        ("a~b!", "a!7Eb!21"),
        ("..", "!2E!2E"),
        (".a", ".a"),
    ],
)
def test_special_characters_are_encoded_without_percent(name: str, part: str) -> None:
    assert encode_part(name) == part


@pytest.mark.parametrize("asked", [require_writable, is_lake])
@pytest.mark.parametrize("root", ["a%20b", "s3://bucket/a%20b", "file:///x%20y/lake"])
def test_a_lake_with_a_percent_sign_is_refused(
    root: str, asked: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingRequirementError, match="has % in its name"):
        asked(root)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("root", ["dbfs:/lake", "hdfs:///lake", "abfss:c@a/lake", "s3a://b/lake"])
def test_a_uri_of_another_store_is_not_a_local_folder(
    root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []
    monkeypatch.setattr(
        "pipeline.lake.layout.require_reachable", lambda root, key: asked.append(root)
    )
    require_writable(root)
    assert asked == [root]
    assert list(tmp_path.iterdir()) == []


@given(st.text(min_size=1), st.text(min_size=1))
def test_encoded_names_are_unique_in_any_catalog(one: str, other: str) -> None:
    name = encode_name(one)
    assert re.fullmatch("[a-z0-9_]+", name)
    assert (name == encode_name(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"), [("a", "A"), ("a_b", "a b"), ("a_b", "a__b"), ("ä", "a")]
)
def test_names_that_are_alike_are_kept_apart(one: str, other: str) -> None:
    assert encode_name(one) != encode_name(other)


def test_tables_are_paths_or_with_a_namespace_names() -> None:
    paths, names = Lake("/lake/"), Lake("/lake", "`main`.`binlake`")
    assert paths.changes("Shop", "orders", 2) == "/lake/silver/changes/Shop/orders/v2"
    assert names.changes("shop", "order_items", 2) == (
        "`main`.`binlake`.`changes__shop__order_items__v2`"
    )
    assert (paths.cuts, names.cuts) == ("/lake/gold/_cuts", "`main`.`binlake`.`gold_cuts`")
    assert names.ledger("batches") == "`main`.`binlake`.`ledger_batches`"
    assert names.staging == paths.staging == "/lake/silver/_staging"
    assert (paths.all_changes("a", "b"), names.all_changes("a", "b")) == (
        None,
        "`main`.`binlake`.`changes__a__b`",
    )
