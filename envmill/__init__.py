"""The engine of EnvMill. Knows nothing of Prefect."""

__version__ = "0.2.0"
