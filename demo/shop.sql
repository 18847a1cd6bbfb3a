-- A small shop. Order matters: the recording replays this before any traffic.
CREATE DATABASE shop CHARACTER SET utf8mb4;

CREATE TABLE shop.customers (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  email       VARCHAR(120) NOT NULL UNIQUE,
  name        VARCHAR(80) NOT NULL,
  tier        ENUM('bronze', 'silver', 'gold') NOT NULL DEFAULT 'bronze',
  preferences JSON,
  birthday    DATE,
  created_at  TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3)
);

CREATE TABLE shop.products (
  sku        VARCHAR(20) NOT NULL PRIMARY KEY,
  name       VARCHAR(80) NOT NULL,
  price      DECIMAL(10, 2) NOT NULL,
  stock      MEDIUMINT NOT NULL,
  labels     SET('new', 'sale', 'fragile', 'heavy') NOT NULL DEFAULT '',
  weight     FLOAT,
  attributes JSON
);

CREATE TABLE shop.orders (
  id          BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  customer_id BIGINT UNSIGNED NOT NULL,
  status      ENUM('new', 'paid', 'shipped', 'cancelled') NOT NULL DEFAULT 'new',
  total       DECIMAL(12, 2) NOT NULL,
  note        TEXT,
  placed_at   DATETIME(6) NOT NULL,
  changed_at  TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
  KEY (customer_id)
);

CREATE TABLE shop.order_items (
  order_id BIGINT UNSIGNED NOT NULL,
  line     TINYINT UNSIGNED NOT NULL,
  sku      VARCHAR(20) NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price    DECIMAL(10, 2) NOT NULL,
  PRIMARY KEY (order_id, line)
);

CREATE TABLE shop.payments (
  id       BINARY(16) NOT NULL PRIMARY KEY,
  order_id BIGINT UNSIGNED NOT NULL,
  method   VARCHAR(20) CHARACTER SET latin1 NOT NULL,
  amount   DECIMAL(12, 2) NOT NULL,
  paid_at  TIMESTAMP(6) NULL,
  took     TIME(3)
);
