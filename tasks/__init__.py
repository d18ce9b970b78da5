"""Prefect's skin: a task asks the lake, calls the engine, saves. One task run per step and
bucket."""
