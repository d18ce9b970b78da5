"""What several gates learn by playing an environment or a scenario: explorations, trials, and what
is compared in them."""
