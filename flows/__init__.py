"""Order under Prefect: flows, the local server, and the command line."""
