CREATE TABLE accounts (name TEXT PRIMARY KEY, opening INTEGER NOT NULL);
CREATE TABLE entries (id INTEGER PRIMARY KEY, account TEXT NOT NULL REFERENCES accounts, amount INTEGER NOT NULL);
INSERT INTO accounts VALUES ('@account@', @opening@), ('wages', 2000), ('till', 150);
INSERT INTO entries (account, amount) VALUES ('@account@', -300), ('wages', -900), ('till', 45);
