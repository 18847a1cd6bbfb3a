-- The bench workload: a wide table filled in bulk, and four tables under small transactions.
CREATE DATABASE bench CHARACTER SET utf8mb4;

CREATE TABLE bench.readings (
  id        BIGINT NOT NULL PRIMARY KEY,
  device    INT UNSIGNED NOT NULL,
  name      VARCHAR(60) NOT NULL,
  site      VARCHAR(40),
  status    ENUM('ok', 'late', 'lost') NOT NULL,
  flags     SMALLINT NOT NULL,
  amount    DECIMAL(12, 2) NOT NULL,
  rate      DECIMAL(18, 6),
  ratio     DOUBLE NOT NULL,
  taken_at  DATETIME(6) NOT NULL,
  stored_at TIMESTAMP NOT NULL,
  detail    JSON
);

CREATE TABLE bench.accounts (
  id         BIGINT NOT NULL PRIMARY KEY,
  name       VARCHAR(60) NOT NULL,
  balance    DECIMAL(14, 2) NOT NULL,
  profile    JSON,
  changed_at DATETIME(6) NOT NULL
);

CREATE TABLE bench.orders (
  id        BIGINT NOT NULL PRIMARY KEY,
  account   BIGINT NOT NULL,
  status    ENUM('new', 'paid', 'sent') NOT NULL,
  total     DECIMAL(12, 2) NOT NULL,
  document  JSON NOT NULL,
  placed_at DATETIME(6) NOT NULL
);

CREATE TABLE bench.order_lines (
  order_id BIGINT NOT NULL,
  line     TINYINT UNSIGNED NOT NULL,
  article  VARCHAR(30) NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price    DECIMAL(10, 2) NOT NULL,
  PRIMARY KEY (order_id, line)
);

CREATE TABLE bench.sessions (
  id      BINARY(8) NOT NULL PRIMARY KEY,
  account BIGINT NOT NULL,
  agent   VARCHAR(120),
  seen_at TIMESTAMP(3) NULL,
  state   JSON
);

CREATE PROCEDURE bench.fill(first_id BIGINT, amount INT)
  INSERT INTO bench.readings
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < amount - 1)
  SELECT first_id + i, i % 5000, CONCAT('reading ', first_id + i, ' of ', i % 5000),
         IF(i % 7 = 0, NULL, CONCAT('site ', i % 97)), 1 + i % 3, i % 1000 - 500,
         (first_id + i) % 1000000 / 100, IF(i % 11 = 0, NULL, i / 7), i / 3,
         TIMESTAMPADD(MICROSECOND, first_id + i, '2026-01-01'),
         TIMESTAMPADD(SECOND, i, '2026-01-01'),
         IF(i % 4 = 0, JSON_OBJECT('seq', i, 'ok', i % 2 = 0, 'tags', JSON_ARRAY('a', i % 9)), NULL)
  FROM n;

CREATE PROCEDURE bench.trade(thread BIGINT, transactions INT)
BEGIN
  DECLARE i INT DEFAULT 0;
  DECLARE id BIGINT;
  DECLARE buyer BIGINT;
  DECLARE document JSON;
  WHILE i < transactions DO
    SET id = thread * 10000000 + i, buyer = thread * 10000000 + i % 997;
    SET document = JSON_OBJECT('seq', i, 'total', i * 1.25e0, 'paid', FALSE,
      'customer', JSON_OBJECT('id', buyer, 'name', CONCAT('customer ', buyer), 'city', 'Zürich'),
      'tags', JSON_ARRAY('web', CONCAT('t', i % 31), i % 5), 'comment', REPEAT('lorem ', i % 12));
    START TRANSACTION;
    IF i < 997 THEN
      INSERT INTO bench.accounts VALUES (id, CONCAT('customer ', id), i, document, NOW(6));
    END IF;
    INSERT INTO bench.orders VALUES (id, buyer, 'new', i % 100000 / 100, document, NOW(6));
    CASE i % 5
      WHEN 0 THEN
        INSERT INTO bench.order_lines
          VALUES (id, 1, CONCAT('article ', i % 613), 1 + i % 7, i % 10000 / 100),
                 (id, 2, CONCAT('article ', i % 271), 1 + i % 3, i % 5000 / 100);
      WHEN 1 THEN
        UPDATE bench.orders AS o
          SET o.status = 'paid', o.document = JSON_SET(o.document, '$.paid', TRUE)
          WHERE o.id = thread * 10000000 + FLOOR(i * 0.7);
      WHEN 2 THEN
        UPDATE bench.accounts AS a
          SET a.balance = a.balance + i % 100, a.changed_at = NOW(6) WHERE a.id = buyer;
      WHEN 3 THEN
        INSERT INTO bench.sessions VALUES
          (UNHEX(LPAD(HEX(id), 16, '0')), buyer, CONCAT('agent/', i % 17), NOW(3), document);
      ELSE
        DELETE FROM bench.sessions
          WHERE sessions.id = UNHEX(LPAD(HEX(thread * 10000000 + i - 1 - 5 * (i % 50)), 16, '0'));
        DELETE FROM bench.order_lines WHERE order_id = thread * 10000000 + i - 4 - 5 * (i % 9);
    END CASE;
    COMMIT;
    SET i = i + 1;
  END WHILE;
END;
