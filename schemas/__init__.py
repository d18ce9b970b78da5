"""Contracts: frozen records, prompt inputs and replies, schemas of tables. They import nothing of
ours."""
