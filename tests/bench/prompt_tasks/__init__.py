"""The tasks of the first real author's runs, with the prompts as they were sent then, and the same
tasks with today's prompts.

sent.jsonl.xz   prompts of commit 405286e, made by `collect.py`     ─► baseline
tests/real_authors (the replies) ─► generate and build, replayed    ─► today's prompt for the same item, tool or number
"""
