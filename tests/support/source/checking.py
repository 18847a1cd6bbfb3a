"""Run `check` on real servers, in this process."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from pipeline.settings import Settings
from pipeline.source.check.finding import Finding
from pipeline.source.check.report import CheckReport
from pipeline.source.check.run import check_with
from pipeline.source.server.login import Login
from tests.support.servers.server import Server

TABLES = """
CREATE DATABASE shop;
CREATE TABLE shop.orders (id INT PRIMARY KEY, note VARCHAR(20));
CREATE TABLE shop.`lines` (
    order_id INT NOT NULL, line INT NOT NULL, UNIQUE (order_id, line),
    FOREIGN KEY (order_id) REFERENCES shop.orders (id) ON DELETE CASCADE
);
"""
PASSWORD = "unheard-of-password"


def root(server: Server) -> Login:
    """Return a login as root, over the socket."""
    return Login("localhost", "root", socket=str(server.socket))


def reader(server: Server) -> Login:
    """Return a login with PASSWORD, over TCP."""
    return Login("127.0.0.1", "reader", server.port, password=SecretStr(PASSWORD))


def checked(server: Server, who: Login | None = None, **conf: Any) -> CheckReport:
    """Return the report on the schema `shop`, by default as root."""
    settings = Settings.load(**{"include": ["shop.*"], **conf})
    return check_with(who or root(server), settings)


def finding(report: CheckReport, check: str) -> Finding:
    """Return the finding of that name."""
    (found,) = (found for found in report.findings if found.check == check)
    return found


def not_fit(report: CheckReport) -> list[str]:
    """Return the names of findings that are not ok."""
    return [found.check for found in report.findings if found.verdict != "ok"]
