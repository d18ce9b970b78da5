"""The training loop: a scripted policy server with realistic think times drives the exported
OpenEnv server."""
