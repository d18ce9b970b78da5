CREATE TABLE donors (
  id TEXT PRIMARY KEY,
  donor_number TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  blood_group TEXT NOT NULL CHECK (blood_group IN ('O-', 'O+', 'A-', 'A+', 'B-', 'B+', 'AB-', 'AB+')),
  weight_kg REAL NOT NULL CHECK (weight_kg > 0),
  birth_year INTEGER NOT NULL
);
CREATE TABLE deferrals (
  id TEXT PRIMARY KEY,
  donor_id TEXT NOT NULL REFERENCES donors(id),
  kind TEXT NOT NULL CHECK (kind IN ('temporary', 'permanent')),
  reason TEXT NOT NULL,
  starts_on TEXT NOT NULL,
  ends_on TEXT NOT NULL
);
CREATE INDEX deferrals_by_donor ON deferrals (donor_id);
CREATE TABLE donations (
  id TEXT PRIMARY KEY,
  donor_id TEXT NOT NULL REFERENCES donors(id),
  donated_on TEXT NOT NULL,
  UNIQUE (donor_id, donated_on)
);
CREATE TABLE refrigerators (
  id TEXT PRIMARY KEY,
  label TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL CHECK (kind IN ('red_cells', 'plasma')),
  capacity INTEGER NOT NULL CHECK (capacity BETWEEN 1 AND 40)
);
CREATE TABLE patients (
  id TEXT PRIMARY KEY,
  case_number TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  hospital TEXT NOT NULL,
  blood_group TEXT NOT NULL CHECK (blood_group IN ('O-', 'O+', 'A-', 'A+', 'B-', 'B+', 'AB-', 'AB+'))
);
CREATE INDEX patients_by_hospital ON patients (hospital);
CREATE TABLE requests (
  id TEXT PRIMARY KEY,
  patient_id TEXT NOT NULL REFERENCES patients(id),
  kind TEXT NOT NULL CHECK (kind IN ('red_cells', 'plasma')),
  units_wanted INTEGER NOT NULL CHECK (units_wanted BETWEEN 1 AND 8),
  transfusion_on TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'closed', 'cancelled'))
);
CREATE INDEX requests_by_patient ON requests (patient_id, status);
CREATE TABLE units (
  id TEXT PRIMARY KEY,
  unit_number TEXT NOT NULL UNIQUE,
  donation_id TEXT NOT NULL REFERENCES donations(id),
  kind TEXT NOT NULL CHECK (kind IN ('red_cells', 'plasma')),
  blood_group TEXT NOT NULL CHECK (blood_group IN ('O-', 'O+', 'A-', 'A+', 'B-', 'B+', 'AB-', 'AB+')),
  expires_on TEXT NOT NULL,
  hepatitis_test TEXT NOT NULL CHECK (hepatitis_test IN ('', 'negative', 'positive')),
  hiv_test TEXT NOT NULL CHECK (hiv_test IN ('', 'negative', 'positive')),
  syphilis_test TEXT NOT NULL CHECK (syphilis_test IN ('', 'negative', 'positive')),
  status TEXT NOT NULL CHECK (status IN ('untested', 'shelved', 'reserved', 'issued', 'quarantined', 'discarded')),
  refrigerator_id TEXT NOT NULL,
  request_id TEXT NOT NULL,
  minutes_out INTEGER NOT NULL CHECK (minutes_out >= 0),
  discard_reason TEXT NOT NULL,
  UNIQUE (donation_id, kind)
);
CREATE INDEX units_on_shelf ON units (status, kind, blood_group, expires_on);
CREATE INDEX units_by_request ON units (request_id);
CREATE TABLE crossmatches (
  id TEXT PRIMARY KEY,
  unit_id TEXT NOT NULL REFERENCES units(id),
  patient_id TEXT NOT NULL REFERENCES patients(id),
  result TEXT NOT NULL CHECK (result IN ('compatible', 'incompatible')),
  UNIQUE (unit_id, patient_id)
);
