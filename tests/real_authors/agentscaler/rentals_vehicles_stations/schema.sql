CREATE TABLE stations (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  capacity INTEGER NOT NULL CHECK (capacity BETWEEN 1 AND 60)
);
CREATE TABLE vehicles (
  id TEXT PRIMARY KEY,
  station_id TEXT NOT NULL REFERENCES stations (id),
  name TEXT NOT NULL,
  category TEXT NOT NULL CHECK (category IN ('bike', 'car', 'van')),
  mileage INTEGER NOT NULL DEFAULT 0 CHECK (mileage >= 0),
  locked INTEGER NOT NULL DEFAULT 1 CHECK (locked IN (0, 1))
);
CREATE INDEX vehicles_by_station ON vehicles (station_id);
CREATE TABLE drivers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  licence_class TEXT NOT NULL CHECK (licence_class IN ('B', 'C', 'D')),
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended'))
);
CREATE TABLE reservations (
  id TEXT PRIMARY KEY,
  vehicle_id TEXT NOT NULL REFERENCES vehicles (id),
  driver_id TEXT NOT NULL REFERENCES drivers (id),
  start_date TEXT NOT NULL,
  purpose TEXT NOT NULL,
  UNIQUE (vehicle_id, start_date),
  UNIQUE (driver_id, start_date)
);
