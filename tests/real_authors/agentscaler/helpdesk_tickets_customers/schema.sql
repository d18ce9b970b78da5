CREATE TABLE customers (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  plan TEXT NOT NULL CHECK (plan IN ('free', 'team', 'business'))
);
CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  skill TEXT NOT NULL CHECK (skill IN ('billing', 'hardware', 'network')),
  status TEXT NOT NULL DEFAULT 'working' CHECK (status IN ('working', 'suspended'))
);
CREATE TABLE tickets (
  id TEXT PRIMARY KEY,
  customer_id TEXT NOT NULL REFERENCES customers (id),
  agent_id TEXT NOT NULL DEFAULT '',
  subject TEXT NOT NULL,
  priority TEXT NOT NULL CHECK (priority IN ('low', 'normal', 'high')),
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed')),
  times_reopened INTEGER NOT NULL DEFAULT 0 CHECK (times_reopened BETWEEN 0 AND 2),
  picture_count INTEGER NOT NULL DEFAULT 0 CHECK (picture_count >= 0)
);
CREATE INDEX tickets_by_customer ON tickets (customer_id, status);
CREATE INDEX tickets_by_agent ON tickets (agent_id, status);
