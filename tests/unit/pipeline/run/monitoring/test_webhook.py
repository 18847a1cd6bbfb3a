"""The webhook: what it posts, where its token comes from, and what no message may contain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.gold import GoldState
from pipeline.lake.ledger.run_record import ReportedProblem
from pipeline.run.monitoring.problems import Problem, ProblemChanges
from pipeline.run.monitoring.source_state import SourceState
from pipeline.run.monitoring.webhook import TOKEN_VARIABLE, Webhook, WebhookError, message
from pipeline.settings import Settings
from tests.support.observe.receiver import Receiver, receiver
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

AT = datetime(2026, 11, 22, 12, tzinfo=timezone.utc)
HELD = Problem("gold", "held", "shop.a", "?token=Zz91secret is damaged", "Run: binlake retry")
FAILED = Problem("gold", "failed", "OSError", "the disk is full", "Run it again.")
OVER = ReportedProblem("gold", "held", "shop.b")


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as kept:
        yield kept


def webhook(server: Receiver, **options: Any) -> Webhook:
    settings = Settings.load(None, notify={"url": f"{server.url}/T0/q8Zr7Wv2", **options})
    made = Webhook.of(settings.notify)
    assert made is not None
    return made


def test_json_is_posted_without_a_token_if_there_is_none(server: Receiver) -> None:
    webhook(server).post({"text": "ü"})
    assert (server.paths, server.bodies) == (["/T0/q8Zr7Wv2"], [{"text": "ü"}])
    assert server.headers[0]["Content-Type"] == "application/json"
    assert "Authorization" not in server.headers[0]
    assert Webhook.of(Settings().notify) is None


@pytest.mark.parametrize(
    ("header", "value"), [("Authorization", "Bearer t0ken"), ("X-Api-Key", "t0ken")]
)
def test_the_token_comes_from_a_file_or_the_environment(
    server: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    header: str,
    value: str,
) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    webhook(server, token_file=str(tmp_path / "token"), header=header).post({})
    monkeypatch.setenv(TOKEN_VARIABLE, "t0ken")
    webhook(server, header=header).post({})
    assert [headers[header] for headers in server.headers] == [value] * 2
    monkeypatch.delenv(TOKEN_VARIABLE)
    with pytest.raises(SettingsError, match=r"notify.token_file: .*gone cannot be read"):
        webhook(server, token_file=str(tmp_path / "gone"))


def test_an_answer_other_than_2xx_is_an_error_without_the_url(server: Receiver) -> None:
    for server.status in (400, 500):
        with pytest.raises(WebhookError) as raised:
            webhook(server).post({})
        assert f"the webhook at 127.0.0.1 answered {server.status}" in str(raised.value)
        assert "q8Zr7Wv2" not in str(raised.value)
    server.status = 204
    webhook(server).post({})


def test_no_redirect_is_followed(server: Receiver) -> None:
    """Neither the token nor the data may go to another host; and urllib would send a GET."""
    for server.status in (301, 302, 303, 307, 308):
        server.location = f"{server.url}/elsewhere"
        with pytest.raises(WebhookError, match=f"answered {server.status}"):
            webhook(server).post({})
    assert set(server.paths) == {"/T0/q8Zr7Wv2"}


def test_a_host_that_does_not_answer_is_an_error_without_the_url(server: Receiver) -> None:
    server.pause = 5
    with pytest.raises(WebhookError, match="cannot be reached: timed out") as raised:
        webhook(server, timeout=0.2).post({})
    closed = Settings.load(None, notify={"url": "http://127.0.0.1:9/q8Zr7Wv2"})
    made = Webhook.of(closed.notify)
    assert made is not None
    with pytest.raises(WebhookError, match=r"cannot be reached: .*refused") as refused:
        made.post({})
    assert "q8Zr7Wv2" not in f"{raised.value} {refused.value}"


@pytest.mark.parametrize(
    ("path", "token"), [("q8Zr7Wv2 x", ""), ("", "q8Zr7Wv2\rx"), ("", "q8Zr7Wv2€")]
)
def test_characters_that_http_does_not_allow_are_an_error_without_the_secret(
    server: Receiver, monkeypatch: pytest.MonkeyPatch, path: str, token: str
) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    settings = Settings.load(None, notify={"url": f"{server.url}/{path}"})
    made = Webhook.of(settings.notify)
    assert made is not None
    with pytest.raises(WebhookError, match="cannot be called") as raised:
        made.post({})
    assert "q8Zr7Wv2" not in f"{raised.value} {raised.value.__cause__}"


def test_the_message_has_what_is_new_what_is_over_and_what_stays_open() -> None:
    settings = Settings(source="shop", lake="s3a://me:s3cret@lake/x")
    changes = ProblemChanges((HELD, FAILED), (OVER,), (), (HELD.reported, FAILED.reported))
    state = SourceState(AT, None, GoldState(), ())
    found = message(settings, replace(RECORD, error="password=abcdef"), changes, state)
    assert (found["event"], found["well"]) == ("problem", False)
    assert found["text"].splitlines() == [
        "shop: shop.a is held: ?token=*** is damaged",
        "shop: run failed in gold: the disk is full",
        "Over: shop.b is no longer held",
    ]
    assert found["new"][1] == {
        "layer": "gold",
        "kind": "failed",
        "subject": "OSError",
        "reason": "the disk is full",
        "remedy": "Run it again.",
    }
    assert found["resolved"] == [{"layer": "gold", "kind": "held", "subject": "shop.b"}]
    assert [one["kind"] for one in found["open"]] == ["held", "failed"]
    assert (found["run_id"], found["source"], found["outcome"]) == ("r1", "shop", "failed")
    assert (found["lake"], found["error"]) == ("s3a://***@lake/x", "password=***")
    assert (found["committed_at"], found["published_at"]) == (AT.isoformat(), None)


def test_many_problems_are_shortened_in_the_text_only() -> None:
    many = tuple(replace(HELD, subject=f"shop.t{n}") for n in range(25))
    changes = ProblemChanges(many, (), (), tuple(one.reported for one in many))
    found = message(Settings(), RECORD, changes, None)
    assert len(found["text"].splitlines()) == 11
    assert found["text"].endswith("and 15 more")
    assert len(found["new"]) == 25


def test_what_is_only_over_is_an_event_of_its_own() -> None:
    found = message(Settings(), RECORD, ProblemChanges((), (OVER,), (OVER,), ()), None)
    assert (found["event"], found["well"], found["new"]) == ("resolved", True, [])
