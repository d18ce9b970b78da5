"""Graphs of tools: which values one tool can supply to another, which inputs nothing supplies,
which tools belong together, and chains of calls.

sketches ─► evidence ─► graph ─► audit, domains ─► samplers ─► one validator ─► chains; what is refused is counted with its reason
"""
