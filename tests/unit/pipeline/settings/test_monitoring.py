"""Settings of monitoring: what is refused, and that the webhook's URL is a secret."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.observe.redaction import Redaction
from pipeline.settings import Settings
from pipeline.settings.conf_file import as_json, as_yaml
from pipeline.settings.secret_file import read_secret

HOOK = "https://hooks.example.com/services/T0/B0/q8Zr7Wv2"


def test_a_section_is_read() -> None:
    settings = Settings.load(
        None,
        stale="2 h",
        metrics={"textfile": "/node/binlake.prom"},
        lineage={"openlineage": "~/events.ndjson"},
        notify={"url": HOOK},
    )
    assert settings.stale == timedelta(hours=2)
    assert settings.metrics.textfile == "/node/binlake.prom"
    assert settings.lineage.openlineage == str(Path("~/events.ndjson").expanduser())
    assert settings.notify.url is not None
    assert settings.notify.url.get_secret_value() == HOOK
    assert settings.updated(source="b").notify == settings.notify


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"metrics": {"textfile": "/node/binlake.txt"}}, "metrics.textfile: is not the name of a"),
        ({"lineage": {"openlineage": "kafka://host"}}, "lineage.openlineage: is neither the URL"),
        ({"lineage": {"openlineage": "http://[x/q8Zr7Wv2"}}, "lineage.openlineage: is not a URL"),
        ({"lineage": {"timeout": 0}}, "lineage.timeout: expects a number"),
        ({"notify": {"url": "hooks.example.com/q8Zr7Wv2"}}, "notify.url: is not a URL such as"),
        ({"notify": {"url": "file:///q8Zr7Wv2"}}, "notify.url: is not a URL such as https://"),
        ({"notify": {"url": "https://host:99999/q8Zr7Wv2"}}, "notify.url: is not a URL such as"),
        ({"notify": {"header": "X Key:"}}, "notify.header: expects text"),
        ({"notify": {"token": "q8Zr7Wv2"}}, "notify.token: is not a setting."),
        ({"stale": 3}, "stale: 3 is not a duration, such as 7 days"),
        ({"stale": "forever"}, "stale: expects a duration, such as"),
    ],
)
def test_mistakes_are_reported_without_a_secret(section: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Settings.load(None, **section)
    assert message in str(raised.value)
    assert "q8Zr7Wv2" not in str(raised.value)


def test_the_webhooks_url_is_never_shown() -> None:
    settings = Settings.load(
        None, notify={"url": HOOK}, lineage={"openlineage": "https://me:q8Zr7Wv2@marquez"}
    )
    assert "q8Zr7Wv2" not in as_yaml(settings) + as_json(settings) + repr(settings.notify)
    assert "notify:\n  url: '***'\n" in as_yaml(settings)
    redact = Redaction(settings.secrets, {})
    assert redact(f"POST {HOOK} failed") == "POST *** failed"
    assert "q8Zr7Wv2" not in redact("https://me:q8Zr7Wv2@marquez: refused, q8Zr7Wv2")


def test_a_secret_comes_from_the_environment_or_else_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("from-a-file\nanother line\n")
    given = {"TOKEN": "from-outside"}
    assert read_secret("TOKEN", str(file), key="k", environment=given) == "from-outside"
    assert read_secret("TOKEN", str(file), key="k", environment={}) == "from-a-file"
    assert read_secret("TOKEN", None, key="k", environment={}) is None
    assert read_secret("TOKEN", str(file), key="k", environment={"TOKEN": ""}) is None
    with pytest.raises(SettingsError, match=r"k: .*gone cannot be read: No such file"):
        read_secret("TOKEN", str(tmp_path / "gone"), key="k", environment={})
