CREATE TABLE ingredients (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  stock_grams INTEGER NOT NULL CHECK (stock_grams >= 0)
);
CREATE TABLE products (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  bake_celsius INTEGER NOT NULL,
  pieces_per_tray INTEGER NOT NULL CHECK (pieces_per_tray > 0)
);
CREATE TABLE recipe_lines (
  id TEXT PRIMARY KEY,
  product_id TEXT NOT NULL REFERENCES products(id),
  ingredient_id TEXT NOT NULL REFERENCES ingredients(id),
  grams_per_piece INTEGER NOT NULL CHECK (grams_per_piece > 0),
  UNIQUE (product_id, ingredient_id)
);
CREATE TABLE ovens (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  tray_places INTEGER NOT NULL CHECK (tray_places > 0)
);
CREATE TABLE shops (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
CREATE TABLE batches (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  product_id TEXT NOT NULL REFERENCES products(id),
  pieces INTEGER NOT NULL CHECK (pieces > 0),
  pieces_left INTEGER NOT NULL CHECK (pieces_left >= 0),
  trays INTEGER NOT NULL CHECK (trays > 0),
  status TEXT NOT NULL CHECK (status IN ('mixed', 'baking', 'baked', 'discarded')),
  oven_id TEXT NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('', 'spoiled', 'stale', 'damaged')),
  pieces_discarded INTEGER NOT NULL CHECK (pieces_discarded >= 0)
);
CREATE TABLE deliveries (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  shop_id TEXT NOT NULL REFERENCES shops(id),
  pieces INTEGER NOT NULL CHECK (pieces > 0)
);
CREATE TABLE orders (
  id TEXT PRIMARY KEY,
  number INTEGER NOT NULL UNIQUE,
  shop_id TEXT NOT NULL REFERENCES shops(id),
  product_id TEXT NOT NULL REFERENCES products(id),
  pieces INTEGER NOT NULL CHECK (pieces > 0),
  status TEXT NOT NULL CHECK (status IN ('open', 'delivered')),
  delivery_id TEXT NOT NULL
);
CREATE INDEX recipe_lines_by_product ON recipe_lines (product_id);
CREATE INDEX batches_by_product ON batches (product_id, status);
CREATE INDEX batches_by_oven ON batches (oven_id);
CREATE INDEX orders_by_shop ON orders (shop_id, status);
CREATE INDEX orders_by_delivery ON orders (delivery_id);
CREATE INDEX deliveries_by_shop ON deliveries (shop_id);
