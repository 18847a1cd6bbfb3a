"""Chromium: the one at BINLAKE_CHROMIUM or on PATH, or that of this machine's Debian release.

The packages are unpacked into `.cache/chromium` without root: about 225 MB of downloads, which take
a minute, once, and 800 MB on disk. `BINLAKE_SCREENSHOTS=FOLDER` keeps what tests looked at.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.programs.debian import UnavailableError, unpacked
from tests.support.programs.installation import CACHE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PACKAGES = ("chromium", "fonts-liberation", "fonts-dejavu-core")
"""The browser, Arial's metric twin, and DejaVu: a desktop's default font, with symbols."""
RELEASE = Path("/etc/os-release")
FONTS = """\
<?xml version="1.0"?>
<fontconfig><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""


def why_unavailable() -> str | None:
    """Return None if there is a Chromium, installed now if necessary, else why there is none."""
    try:
        program()
    except UnavailableError as error:
        return f"no Chromium: {error}; BINLAKE_CHROMIUM can point at one"
    return None


@lru_cache(maxsize=1)
def program() -> tuple[Path, dict[str, str]]:
    """Return the program and the variables that it needs. Raises UnavailableError."""
    given = os.environ.get("BINLAKE_CHROMIUM") or shutil.which("chromium")
    if given:
        return Path(given), {}
    root = unpacked(CACHE / "chromium" / "root", _release(), PACKAGES)
    fonts = CACHE / "chromium" / "fonts.conf"
    fonts.write_text(FONTS.format(fonts=root / "usr/share/fonts", cache=CACHE / "chromium/fonts"))
    # PulseAudio's library has a private one in a folder of its own.
    patterns = ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/pulseaudio", "lib/*-linux-gnu")
    libraries = [folder for pattern in patterns for folder in root.glob(pattern)]
    variables = {
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
        "FONTCONFIG_FILE": str(fonts),
    }
    return root / "usr/lib/chromium/chromium", variables


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium without a window."""
    from playwright.sync_api import sync_playwright

    path, variables = program()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=path, env={**os.environ, **variables}, args=["--disable-gpu"]
        )
        try:
            yield started
        finally:
            started.close()


def kept(file: str) -> Path | None:
    """Return where to keep a screenshot or print-out, if they are wanted."""
    folder = os.environ.get("BINLAKE_SCREENSHOTS")
    return Path(folder, file) if folder else None


def keep(page: Page, name: str, *, full_page: bool = False) -> None:
    """Keep a screenshot of the page, if screenshots are wanted."""
    if file := kept(f"{name}.png"):
        page.screenshot(path=file, full_page=full_page)


def _release() -> str:
    """Return the name of this machine's Debian release: the program needs its C library."""
    lines = RELEASE.read_text(encoding="utf-8").splitlines() if RELEASE.exists() else []
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    if values.get("ID") != "debian" or "VERSION_CODENAME" not in values:
        raise UnavailableError("this machine does not run a Debian release")
    return values["VERSION_CODENAME"].strip('"')
