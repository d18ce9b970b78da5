CREATE TABLE landlords (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  phone TEXT NOT NULL
);
CREATE TABLE flats (
  id TEXT PRIMARY KEY,
  landlord_id TEXT NOT NULL REFERENCES landlords(id),
  address TEXT NOT NULL UNIQUE,
  district TEXT NOT NULL,
  rooms INTEGER NOT NULL CHECK (rooms >= 1),
  floor INTEGER NOT NULL,
  monthly_rent REAL NOT NULL CHECK (monthly_rent > 0),
  accessible INTEGER NOT NULL CHECK (accessible IN (0, 1)),
  status TEXT NOT NULL CHECK (status IN ('vacant', 'reserved', 'let', 'withdrawn')),
  withdrawal_reason TEXT NOT NULL
);
CREATE INDEX flats_by_district ON flats (district, status);
CREATE INDEX flats_by_landlord ON flats (landlord_id, status);
CREATE TABLE flat_defects (
  id TEXT PRIMARY KEY,
  flat_id TEXT NOT NULL REFERENCES flats(id),
  kind TEXT NOT NULL CHECK (kind IN ('mould', 'heating', 'windows', 'plumbing', 'electrics', 'other')),
  note TEXT NOT NULL
);
CREATE TABLE households (
  id TEXT PRIMARY KEY,
  register_number TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  persons INTEGER NOT NULL CHECK (persons BETWEEN 1 AND 10),
  yearly_income REAL NOT NULL CHECK (yearly_income >= 0),
  preferred_district TEXT NOT NULL,
  points INTEGER NOT NULL CHECK (points BETWEEN 0 AND 100),
  refusals INTEGER NOT NULL CHECK (refusals >= 0),
  status TEXT NOT NULL CHECK (status IN ('active', 'suspended', 'housed', 'moved_out'))
);
CREATE INDEX households_by_points ON households (status, points);
CREATE TABLE needs (
  id TEXT PRIMARY KEY,
  household_id TEXT NOT NULL REFERENCES households(id),
  kind TEXT NOT NULL CHECK (kind IN ('overcrowding', 'eviction_notice', 'medical', 'wheelchair')),
  points INTEGER NOT NULL CHECK (points > 0),
  UNIQUE (household_id, kind)
);
CREATE TABLE offers (
  id TEXT PRIMARY KEY,
  flat_id TEXT NOT NULL REFERENCES flats(id),
  household_id TEXT NOT NULL REFERENCES households(id),
  status TEXT NOT NULL CHECK (status IN ('open', 'accepted', 'refused', 'cancelled')),
  refusal_reason TEXT NOT NULL,
  flat_defect_id TEXT NOT NULL,
  counted INTEGER NOT NULL CHECK (counted IN (0, 1))
);
CREATE UNIQUE INDEX one_open_offer_per_flat ON offers (flat_id) WHERE status = 'open';
CREATE UNIQUE INDEX one_open_offer_per_household ON offers (household_id) WHERE status = 'open';
CREATE TABLE leases (
  id TEXT PRIMARY KEY,
  offer_id TEXT NOT NULL UNIQUE REFERENCES offers(id),
  flat_id TEXT NOT NULL REFERENCES flats(id),
  household_id TEXT NOT NULL REFERENCES households(id),
  monthly_rent REAL NOT NULL CHECK (monthly_rent > 0),
  deposit REAL NOT NULL CHECK (deposit >= 0),
  starts_on TEXT NOT NULL,
  ended_on TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('prepared', 'signed', 'ended'))
);
