"""The local Prefect server and its worker, as background processes that belong to one home
folder."""
