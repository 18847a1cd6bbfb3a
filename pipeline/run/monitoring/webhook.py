"""The webhook of `notify`: a POST of JSON about what is new and what is over.

The URL may be the webhook's only protection, so it is in no message; redirects are not followed,
since they would take the token to another host.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http.client import HTTPException, InvalidURL
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from pydantic import SecretStr

from pipeline.errors import BinlakeError
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.observe import redact
from pipeline.observe.current_run import binlake_version
from pipeline.run.monitoring.problems import Problem, ProblemChanges
from pipeline.run.monitoring.source_state import SourceState
from pipeline.settings import Settings
from pipeline.settings.monitoring import NotifySettings
from pipeline.settings.secret_file import read_secret

TOKEN_VARIABLE = "BINLAKE_NOTIFY_TOKEN"
_NAMED = 10
"""The most problems in the human-readable text; the lists have all."""


class WebhookError(BinlakeError):
    """A call of the webhook that was not accepted; the next run repeats it."""


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow no redirect: the answer 3xx is an error."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL to post to, with the header of the token; `timeout` in seconds for each step."""

    url: SecretStr
    headers: Mapping[str, str]
    timeout: float

    @classmethod
    def of(cls, notify: NotifySettings) -> Webhook | None:
        """Return the webhook of the settings; None without one.

        Raises SettingsError if the token cannot be read.
        """
        if notify.url is None:
            return None
        token = read_secret(TOKEN_VARIABLE, notify.token_file, key="notify.token_file")
        headers = {"Content-Type": "application/json", "User-Agent": f"binlake/{binlake_version()}"}
        if token is not None:
            bearer = notify.header.lower() == "authorization"
            headers[notify.header] = f"Bearer {token}" if bearer else token
        return cls(notify.url, headers, notify.timeout)

    def post(self, body: Mapping[str, Any]) -> None:
        """Post an object as JSON. Raises WebhookError unless the answer is 2xx."""
        url = self.url.get_secret_value()
        data = json.dumps(body, ensure_ascii=False).encode()
        request = Request(url, data, dict(self.headers), method="POST")
        try:
            with build_opener(_NoRedirects()).open(request, timeout=self.timeout) as answer:
                answer.read(1)
        except HTTPError as error:
            remedy = "Check notify.url and the token."
            raise self._refused(f"answered {error.code} {error.reason}", remedy) from None
        except (ValueError, InvalidURL):
            # Not chained: the message quotes the URL or the token.
            remedy = "Check notify.url and the token."
            raise self._refused(
                "cannot be called: HTTP does not allow a character in its URL or token", remedy
            ) from None
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            remedy = "Check that this machine reaches it."
            raise self._refused(f"cannot be reached: {reason}", remedy) from None

    def _refused(self, what: str, remedy: str) -> WebhookError:
        host = urlsplit(self.url.get_secret_value()).hostname
        return WebhookError(
            f"the webhook at {host} {what}.", remedy=f"{remedy} The next run repeats it."
        )


def message(
    settings: Settings, record: RunRecord, changes: ProblemChanges, state: SourceState | None
) -> dict[str, Any]:
    """Return the webhook's JSON, without secrets; docs/guides/monitoring.md describes it."""
    lines = [
        *(_sentence(problem, record) for problem in changes.new[:_NAMED]),
        *(f"Over: {_ended(problem)}" for problem in changes.resolved[:_NAMED]),
    ]
    more = len(changes.new) + len(changes.resolved) - len(lines)
    published = {
        "committed_at": _time(state.committed_at if state else None),
        "published_at": _time(state.published_at if state else None),
    }
    content: dict[str, Any] = {
        "event": "problem" if changes.new else "resolved",
        "well": not changes.open,
        "text": "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])]),
        "new": [asdict(problem) for problem in changes.new],
        "resolved": [asdict(problem) for problem in changes.resolved],
        "open": [asdict(problem) for problem in changes.open],
        "error": record.error,
        **published,
    }
    known = {
        "run_id": record.run_id,
        "source": record.source,
        "command": record.command,
        "outcome": record.outcome,
        "exit_code": record.exit_code,
        "retryable": record.retryable,
        "started_at": _time(record.started_at),
        "finished_at": _time(record.finished_at),
        "host": record.host,
        "lake": redact(settings.lake),
    }
    return {**known, **redact.value(content)}


def _sentence(problem: Problem, record: RunRecord) -> str:
    if problem.kind == "failed":
        return f"{record.source}: {record.command} failed in {problem.layer}: {problem.reason}"
    if problem.kind == "held":
        return f"{record.source}: {problem.subject} is held: {problem.reason}"
    return f"{record.source}: {problem.reason}"


def _ended(problem: ReportedProblem) -> str:
    if problem.kind == "failed":
        return f"{problem.layer} works again (it had failed with {problem.subject})"
    if problem.kind == "held":
        return f"{problem.subject} is no longer held"
    return problem.subject


def _time(at: Any) -> str | None:
    return None if at is None else at.isoformat()
