"""A night's rows as frames, what its suites expect of them, and how far it lies from the nights
before.

tables of the lake ──frames──► pandas ──► means, compared with the last nights ──► suites ──Great Expectations──► outcome, Data Docs
"""
