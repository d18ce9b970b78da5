"""Graphs of tools: which value could go where, what nobody can supply, which tools belong together,
and chains through them.

sketches ─► evidence ─► graph ─► audit, domains ─► samplers ─► one validator ─► chains; what is refused is counted with its reason
"""
