"""Privileges parsed from SHOW GRANTS, and the GRANT for missing ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given, strategies as st

from pipeline.settings import Settings
from pipeline.source.check.facts import CheckedTable
from pipeline.source.check.finding import Finding
from pipeline.source.check.granted_privileges import Privileges, Scope
from pipeline.source.check.needed_privileges import NEEDS
from tests.support.source.made_facts import made_facts

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
def test_privileges_count_on_the_scope_where_they_are_granted(
    lines: list[str], scope: Scope, has: bool
) -> None:
    assert Privileges.read(lines).has(SELECT, scope) is has


# Schema names may contain any character but NUL; MySQL allows no blanks at their end.
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(NAMES, st.booleans())
def test_a_grant_on_a_schema_covers_it(schema: str, wildcards: bool) -> None:
    scope = Scope(schema)
    line = f"GRANT SELECT ON {scope.granted(wildcards=wildcards)} TO `u`@`%`"
    privileges = Privileges.read([line], wildcards=wildcards)
    assert privileges.has(SELECT, scope)
    assert not privileges.has(SELECT, Scope(schema + "x"))
    assert not privileges.has(frozenset({"RELOAD"}), scope)


@given(NAMES, NAMES)
def test_a_grant_on_a_table_covers_it(schema: str, table: str) -> None:
    scope = Scope(schema, table)
    privileges = Privileges.read([f"GRANT SELECT ON {scope.granted()} TO `u`@`%`"])
    assert privileges.has(SELECT, scope)
    assert not privileges.has(SELECT, Scope(schema))


@given(st.text())
def test_any_text_can_be_parsed_as_grants(text: str) -> None:
    for line in (text, f"GRANT {text}", f"GRANT {text} ON `a`.* TO `u`@`%`"):
        assert not Privileges.read([line]).has(frozenset({"NO SUCH PRIVILEGE"}), Scope("b"))


def test_with_partial_revokes_schemas_are_not_patterns() -> None:
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
def test_missing_privileges_are_named_as_in_the_servers_version(version: str, client: str) -> None:
    assert statements(version, "GRANT USAGE ON *.* TO `u`@`%`", include=("shop.*",)) == [
        "GRANT REPLICATION SLAVE ON *.* TO 'u'@'%'",
        f"GRANT {client} ON *.* TO 'u'@'%'",
        "GRANT RELOAD ON *.* TO 'u'@'%'",
        "GRANT SELECT ON `shop`.* TO 'u'@'%'",
        "GRANT SHOW VIEW ON `shop`.* TO 'u'@'%'",
    ]
    assert statements(version, "GRANT ALL PRIVILEGES ON *.* TO `u`@`%`") == []


def test_another_privilege_may_be_enough() -> None:
    given = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, SELECT, SHOW VIEW ON *.* TO `u`@`%`"
    assert statements("9.7.0", given) == ["GRANT RELOAD ON *.* TO 'u'@'%'"]
    assert statements("9.7.0", given, "GRANT FLUSH_TABLES ON *.* TO `u`@`%`") == []


@pytest.mark.parametrize(
    ("include", "scopes"),
    [
        ((), ["`shop`.*"]),
        (("*.*",), ["`shop`.*"]),
        (("app?.*", "shop.*"), ["`shop`.*"]),
        (("shop.*", "shop.orders", "a_b%.*"), ["`shop`.*", r"`a\_b\%`.*"]),
        (("shop.ord*", "crm.ord*"), ["`shop`.`orders`"]),
        (("*.orders",), ["`shop`.`orders`"]),
        (("shop.orders", "a_b.c_d"), ["`shop`.`orders`", "`a_b`.`c_d`"]),
    ],
)
def test_select_is_only_required_on_included_tables(
    include: tuple[str, ...], scopes: list[str]
) -> None:
    given = "GRANT REPLICATION SLAVE, REPLICATION CLIENT, RELOAD, SHOW VIEW ON *.* TO `u`@`%`"
    found = statements("9.7.0", given, include=include)
    assert found == [f"GRANT SELECT ON {scope} TO 'u'@'%'" for scope in scopes]


TABLES = tuple(
    CheckedTable(*name.split("."))
    for name in ("shop_a.orders", "shop_b.orders", "shop_b.lines", "crm.people", "mysql.user")
)
SERVER_WIDE = "GRANT SELECT ON *.* TO `u`@`%`"
BY_NAME = ("GRANT SELECT ON `shop_a`.* TO `u`@`%`", "GRANT SELECT ON `shop_b`.* TO `u`@`%`")
BY_TABLE = (
    "GRANT SELECT ON `shop_a`.`orders` TO `u`@`%`",
    "GRANT SELECT ON `shop_b`.`orders` TO `u`@`%`",
)
PATTERN = r"GRANT SELECT ON `shop\_%`.* TO `u`@`%`"
NOT_CRM = "REVOKE SELECT ON `crm`.* FROM `u`@`%`"


def selects(
    grants: Sequence[str],
    conf: Mapping[str, Sequence[str]],
    tables: tuple[CheckedTable, ...] = TABLES,
    *,
    wildcards: bool = True,
) -> tuple[Finding, list[str]]:
    """Return the finding for SELECT, and where it has to be granted."""
    privileges = Privileges.read(grants, wildcards=wildcards)
    facts = made_facts("9.7.0", privileges=privileges, tables=tables)
    (need,) = (need for need in NEEDS if need.privilege == "SELECT")
    (found,) = need(facts, Settings.load(**conf))
    return found, [s.split(" ON ")[1].split(" TO ")[0] for s in found.change.statements]


@pytest.mark.parametrize(
    ("grants", "conf", "verdict"),
    [
        ([PATTERN], {"include": ["shop_*.*"]}, "ok"),
        ([PATTERN], {"include": ["shop_?.*", "shop_*.ord*", "shop_[ab].lines"]}, "ok"),
        (["GRANT SELECT ON `sh%`.* TO `u`@`%`"], {"include": ["shop_*.*"]}, "ok"),
        (["GRANT SELECT ON `%`.* TO `u`@`%`"], {"include": ["*.orders"]}, "ok"),
        ([SERVER_WIDE], {"include": ["*.orders"]}, "ok"),
        ([BY_NAME[0]], {"include": ["shop_a.ord*"]}, "ok"),
        ([SERVER_WIDE, NOT_CRM], {"include": ["shop_*.*"]}, "ok"),
        ([SERVER_WIDE, NOT_CRM], {"exclude": ["crm.*"]}, "ok"),
        ([SERVER_WIDE, NOT_CRM], {"include": ["*.*"]}, "problem"),
        ([SERVER_WIDE, NOT_CRM], {"include": ["*.people"]}, "problem"),
        # A grant that only matches names of some lengths does not cover all.
        ([r"GRANT SELECT ON `shop\__`.* TO `u`@`%`"], {"include": ["shop_*.*"]}, "advice"),
        ([r"GRANT SELECT ON `shop\__%`.* TO `u`@`%`"], {"include": ["shop_*.*"]}, "advice"),
        (BY_NAME, {"include": ["shop_*.*"]}, "advice"),
        (BY_NAME, {"include": ["*.orders"]}, "advice"),
        (BY_TABLE, {"include": ["*.orders"]}, "advice"),
        (BY_TABLE, {"include": ["shop_a.ord*"]}, "advice"),
        (BY_TABLE, {"include": ["shop_*.*"], "exclude": ["*.lines"]}, "advice"),
        (BY_NAME, {"exclude": ["crm.*"]}, "advice"),
        ([BY_NAME[0]], {"include": ["shop_a.*", "crm.*"], "exclude": ["crm.*"]}, "ok"),
        ([BY_NAME[0]], {"include": ["shop_a.*", "crm.people"], "exclude": ["crm.*"]}, "ok"),
        ([BY_NAME[0]], {"include": ["shop_a.*", "crm.*"], "exclude": ["crm.?"]}, "problem"),
        (BY_TABLE, {"include": ["shop_*.*"]}, "problem"),
        ([BY_NAME[0]], {"include": ["shop_*.*"]}, "problem"),
    ],
)
def test_select_on_replicated_tables_is_enough(
    grants: Sequence[str], conf: Mapping[str, Sequence[str]], verdict: str
) -> None:
    found, statements = selects(grants, conf)
    assert found.verdict == verdict
    assert bool(statements) is (verdict == "problem")
    assert ("Other tables may match" in found.why) is (verdict == "advice")


def test_a_pattern_in_a_grant_covers_nothing_with_partial_revokes() -> None:
    found, places = selects([PATTERN], {"include": ["shop_*.*"]}, wildcards=False)
    assert (found.verdict, places) == ("problem", ["`shop_a`.*", "`shop_b`.*"])


@pytest.mark.parametrize(
    ("conf", "places"),
    [
        ({"include": ["shop_*.*"]}, [r"`shop\_a`.*", r"`shop\_b`.*"]),
        ({"include": ["*.orders"]}, ["`shop_a`.`orders`", "`shop_b`.`orders`"]),
        ({"include": ["shop_b.ord*"]}, ["`shop_b`.`orders`"]),
        ({"include": ["shop_*.*"], "exclude": ["shop_a.*"]}, [r"`shop\_b`.*"]),
        (
            {"include": ["shop_*.*"], "exclude": ["shop_b.lines"]},
            [r"`shop\_a`.*", "`shop_b`.`orders`"],
        ),
        ({}, [r"`shop\_a`.*", r"`shop\_b`.*", "`crm`.*"]),
        ({"exclude": ["shop_*.*"]}, ["`crm`.*"]),
    ],
)
def test_only_visible_tables_are_granted(
    conf: Mapping[str, Sequence[str]], places: list[str]
) -> None:
    found, granted = selects(["GRANT INSERT ON *.* TO `u`@`%`"], conf)
    assert (found.verdict, granted) == ("problem", places)
    # And that is enough.
    given = [f"GRANT SELECT ON {place} TO `u`@`%`" for place in places]
    assert selects(given, conf)[0].verdict != "problem"


@pytest.mark.parametrize(
    ("conf", "places"),
    [
        ({}, ["*.*"]),
        ({"include": ["*.*"]}, ["*.*"]),
        ({"include": ["shop_a.*"]}, [r"`shop\_a`.*"]),
        ({"include": ["shop_a.orders"]}, ["`shop_a`.`orders`"]),
        ({"include": ["shop_*.*"]}, []),
        ({"include": ["*.orders"]}, []),
        ({"include": ["shop_a.ord*"]}, []),
    ],
)
def test_without_visible_tables_the_possible_grant_is_suggested(
    conf: Mapping[str, Sequence[str]], places: list[str]
) -> None:
    found, granted = selects(["GRANT USAGE ON *.* TO `u`@`%`"], conf, ())
    assert (found.verdict, granted) == ("problem", places)
    assert places or conf["include"][0] in found.has


@pytest.mark.parametrize(
    ("user", "account"),
    [
        ("u@localhost", "'u'@'localhost'"),
        ("me@home@10.%", "'me@home'@'10.%'"),
        ("o'hara@%", "'o''hara'@'%'"),
        ("@localhost", "''@'localhost'"),
    ],
)
def test_the_user_is_quoted_for_grant(user: str, account: str) -> None:
    first, *_ = statements("9.7.0", user=user)
    assert first == f"GRANT REPLICATION SLAVE ON *.* TO {account}"
