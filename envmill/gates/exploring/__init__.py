"""What several gates learn by running an environment or a scenario: explorations, trials, and
comparisons of their results."""
