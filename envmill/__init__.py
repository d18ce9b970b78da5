"""The engine of EnvMill. Knows nothing of Prefect."""

__version__ = "0.1.0"
