"""The source server as a command is told it: by its environment, from one of Airflow's connections.

The connection is asked for when the task runs. Its password is in no argument, template or XCom,
and Airflow hides it in logs, as it stands and as it is written in the URL.
"""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException
from airflow.sdk.log import mask_secret

VARIABLE = "BINLAKE_SERVER"
"""`mysql://user:password@host:port`, percent-encoded: see docs/guides/configuration.md."""


def server_environment(connection: str | None) -> dict[str, str]:
    """What the environment gets; nothing without a connection.

    Of the connection count host, port, login and password. Its schema and its extra do not: TLS is
    set in the settings.
    """
    return {} if connection is None else {VARIABLE: _url(Connection.get(connection))}


def _url(found: Connection) -> str:
    if not found.host:
        raise AirflowFailException(f"The connection {found.conn_id} has no host.")
    host = f"[{found.host}]" if ":" in found.host else quote(found.host, safe="")
    who = quote(found.login or "", safe="")
    if found.password:
        written = quote(found.password, safe="")
        mask_secret(found.password)
        mask_secret(written)
        who = f"{who}:{written}"
    at = f"{who}@" if who else ""
    port = f":{found.port}" if found.port else ""
    return f"mysql://{at}{host}{port}"
