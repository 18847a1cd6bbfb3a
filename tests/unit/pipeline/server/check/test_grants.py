"""Privileges read from SHOW GRANTS, and the GRANT for what lacks."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from pipeline.server.check.grants import NEEDS
from pipeline.server.check.privileges import Privileges, Scope
from pipeline.settings import Settings
from tests.support.made_facts import made_facts

SHOP, ORDERS = Scope("shop"), Scope("shop", "orders")
SELECT = frozenset({"SELECT"})


@pytest.mark.parametrize(
    ("lines", "scope", "has"),
    [
        (["GRANT USAGE ON *.* TO `u`@`%`"], Scope(), False),
        (["GRANT ALL PRIVILEGES ON *.* TO 'u'@'%' WITH GRANT OPTION"], Scope(), True),
        (["GRANT SELECT, RELOAD ON *.* TO `u`@`%`"], SHOP, True),
        (["GRANT RELOAD, SELECT ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*0'"], ORDERS, True),
        (["GRANT SELECT ON `shop`.* TO `u`@`%`"], SHOP, True),
        (["GRANT SELECT ON `shop`.* TO `u`@`%`"], Scope(), False),
        (["GRANT SELECT ON `shop`.* TO `u`@`%`"], Scope("crm"), False),
        (["GRANT ALL PRIVILEGES ON `sh%`.* TO `u`@`%`"], SHOP, True),
        (["GRANT SELECT ON `sh_p`.* TO `u`@`%`"], SHOP, True),
        ([r"GRANT SELECT ON `sh\_p`.* TO `u`@`%`"], SHOP, False),
        ([r"GRANT SELECT ON `a\_b`.* TO `u`@`%`"], Scope("a_b"), True),
        (["GRANT SELECT ON `shop`.`orders` TO `u`@`%`"], ORDERS, True),
        (["GRANT SELECT ON `shop`.`orders` TO `u`@`%`"], SHOP, False),
        (["GRANT SELECT (`id`, `at`), INSERT ON `shop`.`orders` TO `u`@`%`"], ORDERS, False),
        (["GRANT INSERT (`id`), SELECT ON `shop`.`orders` TO `u`@`%`"], ORDERS, True),
        (["GRANT SELECT ON `a ``ON`` b`.* TO `u`@`%`"], Scope("a `ON` b"), True),
        (["GRANT `reading`@`%` TO `u`@`%`", "GRANT PROXY ON ''@'' TO 'u'@'%'"], SHOP, False),
        (["GRANT EXECUTE ON PROCEDURE `shop`.`orders` TO `u`@`%`"], ORDERS, False),
        (
            ["GRANT SELECT ON *.* TO `u`@`%`", "REVOKE SELECT ON `shop`.* FROM `u`@`%`"],
            SHOP,
            False,
        ),
        (
            ["GRANT SELECT ON *.* TO `u`@`%`", "REVOKE SELECT ON `shop`.* FROM `u`@`%`"],
            Scope(),
            False,
        ),
        (
            ["GRANT SELECT ON *.* TO `u`@`%`", "REVOKE SELECT ON `shop`.* FROM `u`@`%`"],
            Scope("crm"),
            True,
        ),
        (
            ["GRANT SELECT ON *.* TO `u`@`%`", "REVOKE SELECT ON `mysql`.* FROM `u`@`%`"],
            Scope(),
            True,
        ),
    ],
)
def test_privileges_count_where_they_are_given(lines: list[str], scope: Scope, has: bool) -> None:
    assert Privileges.read(lines).has(SELECT, scope) is has


# A name of a schema may be of any characters but NUL; of blanks at its end MySQL takes none.
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(NAMES, st.booleans())
def test_what_is_granted_on_a_schema_is_had_on_it(schema: str, wildcards: bool) -> None:
    scope = Scope(schema)
    line = f"GRANT SELECT ON {scope.granted(wildcards=wildcards)} TO `u`@`%`"
    privileges = Privileges.read([line], wildcards=wildcards)
    assert privileges.has(SELECT, scope)
    assert not privileges.has(SELECT, Scope(schema + "x"))
    assert not privileges.has(frozenset({"RELOAD"}), scope)


@given(NAMES, NAMES)
def test_what_is_granted_on_a_table_is_had_on_it(schema: str, table: str) -> None:
    scope = Scope(schema, table)
    privileges = Privileges.read([f"GRANT SELECT ON {scope.granted()} TO `u`@`%`"])
    assert privileges.has(SELECT, scope)
    assert not privileges.has(SELECT, Scope(schema))


@given(st.text())
def test_any_text_is_read_as_some_privileges_or_none(text: str) -> None:
    for line in (text, f"GRANT {text}", f"GRANT {text} ON `a`.* TO `u`@`%`"):
        assert not Privileges.read([line]).has(frozenset({"NO SUCH PRIVILEGE"}), Scope("b"))


def test_where_schemas_are_names_they_are_no_patterns() -> None:
    privileges = Privileges.read(["GRANT SELECT ON `sh_p`.* TO `u`@`%`"], wildcards=False)
    assert privileges.has(SELECT, Scope("sh_p"))
    assert not privileges.has(SELECT, SHOP)


def statements(
    version: str, *grants: str, user: str = "u@%", include: tuple[str, ...] = ()
) -> list[str]:
    facts = made_facts(version, privileges=Privileges.read(grants), user=user)
    settings = Settings.load(include=include)
    return [s for need in NEEDS for found in need(facts, settings) for s in found.change.statements]


@pytest.mark.parametrize(
    ("version", "client"),
    [
        ("5.7.44-log", "REPLICATION CLIENT"),
        ("9.7.0", "REPLICATION CLIENT"),
        ("10.3.39-MariaDB", "REPLICATION CLIENT"),
        ("10.11.14-MariaDB", "BINLOG MONITOR"),
    ],
)
def test_what_lacks_is_granted_by_its_name_in_that_version(version: str, client: str) -> None:
    assert statements(version, "GRANT USAGE ON *.* TO `u`@`%`") == [
        "GRANT REPLICATION SLAVE ON *.* TO 'u'@'%'",
        f"GRANT {client} ON *.* TO 'u'@'%'",
        "GRANT RELOAD ON *.* TO 'u'@'%'",
        "GRANT SELECT ON *.* TO 'u'@'%'",
        "GRANT SHOW VIEW ON *.* TO 'u'@'%'",
    ]
    assert statements(version, "GRANT ALL PRIVILEGES ON *.* TO `u`@`%`") == []


def test_another_privilege_may_be_enough() -> None:
    given = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT, SHOW VIEW ON *.* TO `u`@`%`"
    assert statements("9.7.0", given) == ["GRANT RELOAD ON *.* TO 'u'@'%'"]
    assert statements("9.7.0", given, "GRANT FLUSH_TABLES ON *.* TO `u`@`%`") == []


@pytest.mark.parametrize(
    ("include", "scopes"),
    [
        ((), ["*.*"]),
        (("*.*",), ["*.*"]),
        (("app?.*", "shop.*"), ["*.*"]),
        (("shop.*", "shop.orders", "a_b%.x*"), ["`shop`.*", r"`a\_b\%`.*"]),
        (("shop.orders", "a_b.c_d"), ["`shop`.`orders`", "`a_b`.`c_d`"]),
    ],
)
def test_no_more_is_asked_for_than_conf_includes(
    include: tuple[str, ...], scopes: list[str]
) -> None:
    given = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, RELOAD, SHOW VIEW ON *.* TO `u`@`%`"
    found = statements("9.7.0", given, include=include)
    assert found == [f"GRANT SELECT ON {scope} TO 'u'@'%'" for scope in scopes]


@pytest.mark.parametrize(
    ("user", "account"),
    [
        ("u@localhost", "'u'@'localhost'"),
        ("me@home@10.%", "'me@home'@'10.%'"),
        ("o'hara@%", "'o''hara'@'%'"),
        ("@localhost", "''@'localhost'"),
    ],
)
def test_the_user_is_named_as_grant_takes_it(user: str, account: str) -> None:
    first, *_ = statements("9.7.0", user=user)
    assert first == f"GRANT REPLICATION SLAVE ON *.* TO {account}"
