"""Settings of what a run reports to monitoring: metrics, lineage and a webhook.

They contain no token: it comes from a file or from the environment
(`pipeline.settings.secret_file`).
"""

from __future__ import annotations

from os.path import expanduser
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ConfigDict, Field, PlainSerializer, SecretStr

from pipeline.observe.redaction import MASK
from pipeline.settings.values import LocalPath, Model

SECONDS = 5.0
_COLLECTED = ".prom"
"""The suffix of files that node_exporter's textfile collector reads."""

_Masked = PlainSerializer(lambda _: MASK, return_type=str, when_used="json")
Seconds = Annotated[float, Field(gt=0, le=60)]


def is_web(url: str) -> bool:
    """Return True for the URL of a web server. Raises ValueError if it has a host or port that
    cannot be read; the message does not quote the URL, which may contain a secret."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # Not chained: urllib's message quotes the URL.
        raise ValueError("is not a URL such as https://host/path") from None


def _textfile(path: str) -> str:
    if not path.endswith(_COLLECTED):
        raise ValueError(
            f"is not the name of a {_COLLECTED} file: node_exporter's textfile collector reads no"
            " others"
        )
    return path


def _webhook(url: SecretStr) -> SecretStr:
    if not is_web(url.get_secret_value()):
        raise ValueError("is not a URL such as https://host/path")
    return url


def _lineage(place: str) -> str:
    if is_web(place):
        return place
    if "://" in place:
        raise ValueError("is neither the URL of a web server (https://host) nor a file")
    return expanduser(place)


WebhookUrl = Annotated[SecretStr, AfterValidator(_webhook), _Masked]


class MetricsSettings(Model):
    """Prometheus's metrics of a source (`pip install 'binlake[metrics]'`)."""

    textfile: Annotated[LocalPath, AfterValidator(_textfile)] | None = None
    """A file, `NAME.prom`, that each run writes for node_exporter's textfile collector. Each source
    needs one of its own."""
    tables: bool = False
    """Write metrics of each table, too."""


class LineageSettings(Model):
    """Lineage as OpenLineage events (`pip install 'binlake[lineage]'`)."""

    model_config = ConfigDict(hide_input_in_errors=True)

    openlineage: Annotated[str, AfterValidator(_lineage)] | None = None
    """Destination of each layer's START, COMPLETE and FAIL events: the URL of a server
    (`https://marquez:5000`), or a file to which they are appended, one per line."""
    namespace: str = "binlake"
    """The namespace of the jobs, by which their owner knows them."""
    api_key_file: LocalPath | None = None
    """The path of a file whose first line is the server's API key, unless OPENLINEAGE_API_KEY is
    set."""
    timeout: Seconds = SECONDS
    """The timeout of an event, in seconds. After the first failed event, a run sends no further
    events."""


class NotifySettings(Model):
    """A webhook that is called when a problem appears, and when it is resolved."""

    model_config = ConfigDict(hide_input_in_errors=True)

    url: WebhookUrl | None = None
    """URL to which a run posts JSON about a failure, a held table, a gap or another fault: once,
    and again when it is resolved. The URL is treated as a secret."""
    token_file: LocalPath | None = None
    """The path of a file whose first line is the webhook's token, unless BINLAKE_NOTIFY_TOKEN is
    set. Settings never hold a token."""
    header: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]*$")] = "Authorization"
    """The header with the token: `Authorization` gets `Bearer TOKEN`, any other the token alone."""
    timeout: Seconds = SECONDS
    """The timeout of a call, in seconds. The next run repeats the call."""
