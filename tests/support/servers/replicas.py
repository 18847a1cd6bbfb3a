"""Set up replication between real servers, and failovers."""

from __future__ import annotations

from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server

PATIENCE = 60
"""Seconds that a replica may take to catch up with its source."""


def replicate(source: Server, replica: Server) -> None:
    """Make a server follow another one by GTID, whatever it followed before."""
    if isinstance(source, MariaDBServer):
        # A former source continues after its own transactions.
        replica.execute("STOP SLAVE; SET GLOBAL gtid_slave_pos = @@gtid_current_pos")
        replica.execute(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1',"
            f" MASTER_PORT = {source.port}, MASTER_USER = 'root', MASTER_CONNECT_RETRY = 1,"
            " MASTER_USE_GTID = slave_pos; START SLAVE"
        )
        return
    replica.execute(
        "STOP REPLICA; CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1',"
        f" SOURCE_PORT = {source.port}, SOURCE_USER = 'root', SOURCE_CONNECT_RETRY = 1,"
        " SOURCE_AUTO_POSITION = 1; START REPLICA"
    )


def follow(source: Server, replica: Server) -> None:
    """Wait until a replica has all that its source has now."""
    if isinstance(source, MariaDBServer):
        ((wanted,),) = source.execute("SELECT @@gtid_binlog_pos")
        ((late,),) = replica.execute(f"SELECT MASTER_GTID_WAIT('{wanted}', {PATIENCE})")
        assert late == 0, replica.execute("SHOW SLAVE STATUS")
        return
    ((wanted,),) = source.execute("SELECT @@gtid_executed")
    ((late,),) = replica.execute(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{wanted}', {PATIENCE})")
    assert late == 0, replica.execute("SHOW REPLICA STATUS")


def promote(server: Server) -> None:
    """Stop replication on a server, so that it can be a source."""
    mysql = isinstance(server, MySQLServer)
    server.execute("STOP REPLICA; RESET REPLICA ALL" if mysql else "STOP SLAVE; RESET SLAVE ALL")
