"""EnvMill as a library: open an environment, play it, judge it, audit it, or run a recipe.

    import envmill

    with envmill.open_environment("worlds/bundle/tool-shed") as shed, shed.start(shed.scenarios[0])
    as session:
        session.call("list_tools")
        session.say("Done.")
        print(session.judge().outcome)

Names load when they are first used, so `import envmill` stays cheap. docs/library.md describes all
of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from envmill.base.version import __version__ as __version__

if TYPE_CHECKING:
    from envmill.front.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    public = import_module("envmill.front.public")
    if name == "__all__" or name in public.__all__:
        return getattr(public, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("envmill.front.public").__all__})
