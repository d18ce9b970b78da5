"""What the building of every kind shares: complaints, the repair loop, states, rules and derived
tables."""
