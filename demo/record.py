"""Record the demo's binlogs: a small shop under traffic, on a real MySQL server.

Run: `python -m demo.record` in the repository. It replaces `demo/binlogs` and `demo/expected.json`,
the results of SELECT at the end. The traffic is the same each time, the timestamps are not.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.servers.mysql import MySQLServer

FOLDER = Path(__file__).parent
BINLOGS = FOLDER / "binlogs"
NAMES = ("Ada", "Björn", "Chloé", "Dmitri", "Ève", "Fatma", "Grzegorz", "Hana", "李雷", "Zoë 🦊")
THINGS = ("Kettle", "Lamp", "Rug", "Chair", "Mug", "Clock", "Shelf", "Vase", "Stool", "Tray")
COLOURS = ("red", "blue", "oak", "black", "white")
LABELS = ("", "new", "sale", "new,fragile", "heavy", "sale,heavy")

TOTALS = {
    "customers": "SUM(id), SUM(JSON_LENGTH(preferences))",
    "products": "SUM(price), SUM(stock)",
    "orders": "SUM(total), SUM(status = 'shipped')",
    "order_items": "SUM(price * quantity), SUM(line)",
    "payments": "SUM(amount), COUNT(DISTINCT order_id)",
}
"""Two sums per table that a replica must reproduce; `demo.show` computes them on gold."""


class Shop:
    """The traffic: each method is one transaction; all choices come from one seeded generator."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._random = random.Random(20_260)
        self._skus: list[str] = []
        self._customers = 0
        self._orders: list[int] = []

    def execute(self, sql: str, *arguments: Any) -> int:
        """Run one statement; return its generated id, or 0."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, arguments or None)
            return int(cursor.lastrowid or 0)

    def transaction(self, work: Callable[[], None]) -> None:
        """Run `work` and commit, or roll back in 2 of 100 cases."""
        self._connection.begin()
        work()
        if self._random.random() < 0.02:
            self._connection.rollback()
        else:
            self._connection.commit()

    def add_products(self, count: int) -> None:
        """Insert many products in one transaction: a delivery."""
        pick = self._random.choice
        for _ in range(count):
            sku = f"P-{len(self._skus):04d}"
            self._skus.append(sku)
            name = f"{pick(COLOURS)} {pick(THINGS)}"
            size = {"cm": [self._random.randint(1, 200) for _ in range(3)]}
            attributes = {"colour": name.split()[0], "size": size, "rating": None}
            self.execute(
                "INSERT INTO shop.products VALUES (%s, %s, %s, %s, %s, %s, %s)",
                *(sku, name, self._price(), self._random.randint(-3, 900), pick(LABELS)),
                *(round(self._random.uniform(0.1, 40), 2), json.dumps(attributes)),
            )

    def sign_up(self) -> None:
        """Insert a customer."""
        self._customers += 1
        name = self._random.choice(NAMES)
        likes = self._random.sample(COLOURS, self._random.randint(0, 3))
        preferences = json.dumps({"likes": likes, "mail": self._random.random() < 0.5})
        born = date(1950, 1, 1) + timedelta(days=self._random.randint(0, 20_000))
        self.execute(
            "INSERT INTO shop.customers (email, name, tier, preferences, birthday)"
            " VALUES (%s, %s, %s, %s, %s)",
            *(
                f"user{self._customers}@example.org",
                name,
                self._random.choice(("bronze", "silver")),
            ),
            *(preferences if likes else None, born if self._random.random() < 0.8 else None),
        )

    def order(self) -> None:
        """Insert an order with its lines, and reduce the stock."""
        lines = [
            (sku, self._random.randint(1, 5), self._price())
            for sku in self._random.sample(self._skus, self._random.randint(1, 4))
        ]
        order = self.execute(
            "INSERT INTO shop.orders (customer_id, total, note, placed_at) VALUES (%s, %s, %s, %s)",
            self._random.randint(1, self._customers),
            sum(quantity * price for _, quantity, price in lines),
            self._random.choice((None, "leave at the door", "ring twice", "très fragile")),
            datetime.now(),
        )
        for number, line in enumerate(lines, 1):
            sql = "INSERT INTO shop.order_items VALUES (%s, %s, %s, %s, %s)"
            self.execute(sql, order, number, *line)
            sql = "UPDATE shop.products SET stock = stock - %s WHERE sku = %s"
            self.execute(sql, line[1], line[0])
        self._orders.append(order)

    def pay(self) -> None:
        """Insert a payment, and set its order to paid."""
        order = self._random.choice(self._orders)
        self.execute(
            "INSERT INTO shop.payments SELECT %s, id, %s, total, NOW(6), %s"
            " FROM shop.orders WHERE id = %s",
            uuid.UUID(int=self._random.getrandbits(128)).bytes,
            self._random.choice(("card", "invoice", "chèque")),
            f"{self._random.choice(('', '-'))}00:0{self._random.randint(0, 9)}:12.345",
            order,
        )
        self._set_status(order, "paid")

    def ship(self) -> None:
        """Ship the oldest order, or cancel it and delete its lines."""
        order = self._orders.pop(0)
        if self._random.random() < 0.2:
            self._set_status(order, "cancelled")
            self.execute("DELETE FROM shop.order_items WHERE order_id = %s", order)
        else:
            self._set_status(order, "shipped")

    def loyalty(self) -> None:
        """Promote some customers, and change their JSON in the server."""
        self.execute(
            "UPDATE shop.customers SET tier = 'gold',"
            " preferences = JSON_SET(COALESCE(preferences, '{}'), '$.since', YEAR(NOW()))"
            " WHERE id %% 17 = %s",
            self._random.randint(0, 16),
        )

    def leave(self) -> None:
        """Delete a customer."""
        self.execute(
            "DELETE FROM shop.customers WHERE id = %s", self._random.randint(1, self._customers)
        )

    def renumber(self) -> None:
        """Give some products new article numbers: their primary key changes."""
        for position in self._random.sample(range(len(self._skus)), 5):
            old = self._skus[position]
            self._skus[position] = new = f"{old}-B"
            self.execute("UPDATE shop.products SET sku = %s WHERE sku = %s", new, old)
            self.execute("UPDATE shop.order_items SET sku = %s WHERE sku = %s", new, old)

    def trade(self, transactions: int) -> None:
        """Run a random mix of transactions."""
        kinds = (self.sign_up, self.order, self.pay, self.ship, self.loyalty, self.leave)
        for kind in self._random.choices(kinds, (20, 40, 25, 12, 1, 2), k=transactions):
            if kind is not self.ship or len(self._orders) > 1:
                self.transaction(kind)

    def _set_status(self, order: int, status: str) -> None:
        self.execute("UPDATE shop.orders SET status = %s WHERE id = %s", status, order)

    def _price(self) -> Decimal:
        return Decimal(self._random.randint(99, 99_999)) / 100


def record(server: MySQLServer) -> dict[str, list[str]]:
    """Write four files: opening, trade, a schema change amid trade, and the last day."""
    with server.connect() as connection:
        shop = Shop(connection)
        shop.execute((FOLDER / "shop.sql").read_text())
        shop.execute("CREATE USER clerk@localhost")
        shop.transaction(lambda: shop.add_products(120))
        for _ in range(40):
            shop.transaction(shop.sign_up)
        shop.transaction(shop.order)
        shop.trade(300)
        server.flush_logs()
        shop.trade(400)
        server.flush_logs()
        shop.trade(100)
        shop.execute(
            "ALTER TABLE shop.orders ADD COLUMN channel VARCHAR(12) NOT NULL DEFAULT 'web'"
        )
        shop.execute("ALTER TABLE shop.customers ADD COLUMN points INT NOT NULL DEFAULT 100")
        shop.trade(100)
        shop.execute("UPDATE shop.customers SET points = points + 50 WHERE tier = 'gold'")
        shop.execute("UPDATE shop.orders SET channel = 'shop' WHERE id % 9 = 0")
        shop.transaction(shop.renumber)
        shop.execute("SET SESSION binlog_transaction_compression = ON")
        shop.trade(100)
        shop.execute("SET SESSION binlog_transaction_compression = OFF")
        server.flush_logs()
        shop.trade(150)
        shop.execute("DELETE FROM shop.products WHERE stock < 0")
    return {
        table: [
            str(figure)
            for figure in server.execute(f"SELECT COUNT(*), {sums} FROM shop.{table}")[0]
        ]
        for table, sums in TOTALS.items()
    }


def main() -> None:
    """Record, and replace the repository's files."""
    with tempfile.TemporaryDirectory() as folder, MySQLServer(Path(folder)) as server:
        expected = record(server)
        server.stop()
        shutil.rmtree(BINLOGS, ignore_errors=True)
        BINLOGS.mkdir()
        for log in server.binlogs():
            shutil.copyfile(log, BINLOGS / log.name)
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=2) + "\n")
    size = sum(log.stat().st_size for log in BINLOGS.iterdir())
    print(f"{size / 1e6:.2f} MB in {len(list(BINLOGS.iterdir()))} files; {expected}")


if __name__ == "__main__":
    main()
