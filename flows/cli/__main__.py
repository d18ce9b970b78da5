"""`python -m flows.cli` is `envmill`."""

from flows.cli import main

main()
