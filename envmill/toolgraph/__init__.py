"""Graphs of tools. A graph says which values one tool can supply to another, which inputs nothing
supplies and which tools belong together. Samplers draw chains of calls from it.

sketches ─► evidence ─► graph ─► audit, domains ─► samplers ─► one validator ─► chains; what is refused is counted with its reason
"""
