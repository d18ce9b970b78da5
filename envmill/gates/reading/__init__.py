"""How several gates read requests, facts and replies, and how the judge decides on suspicions."""
