"""What several gates read in requests, facts and replies, and who is asked about a suspicion."""
