"""Errands: a wish with its truth, the tests on both sides of it, the machine it is done on, and the
path that does it; made part by part.

wish ─► initial test ─► image ─┬─ built, asked ─► machine            ┐ each loop is told
      final test ─► solution ──┴─ untouched, walked, restarted ─► outfit ┘ what failed
"""
