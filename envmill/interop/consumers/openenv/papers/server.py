# pyright: basic, reportMissingImports=false
"""Where OpenEnv's tools look for the server."""

from envmill_openenv.app import app
from envmill_openenv.app import main as serve

__all__ = ["app", "main"]


def main() -> None:
    """Serve."""
    serve()


if __name__ == "__main__":
    main()
