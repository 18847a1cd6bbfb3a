-- The bulk workload: one table of 12 columns, of types that every decoder knows (MariaDB's programs
-- stop at MySQL's JSON).
CREATE DATABASE bulk CHARACTER SET utf8mb4;

CREATE TABLE bulk.readings (
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
  remark    VARCHAR(200)
);

CREATE PROCEDURE bulk.fill(first_id BIGINT, amount INT)
  INSERT INTO bulk.readings
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < amount - 1)
  SELECT first_id + i, i % 5000, CONCAT('reading ', first_id + i, ' of ', i % 5000),
         IF(i % 7 = 0, NULL, CONCAT('site ', i % 97)), 1 + i % 3, i % 1000 - 500,
         (first_id + i) % 1000000 / 100, IF(i % 11 = 0, NULL, i / 7), i / 3,
         TIMESTAMPADD(MICROSECOND, first_id + i, '2026-01-01'),
         TIMESTAMPADD(SECOND, i, '2026-01-01'),
         IF(i % 4 = 0, NULL, CONCAT('Zürich ', REPEAT('lorem ', i % 6)))
  FROM n;
