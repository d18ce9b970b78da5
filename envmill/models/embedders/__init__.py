"""Embedders by name, and how one is chosen."""

from envmill.errors import SettingsError
from envmill.models.connection import ApiConnection
from envmill.models.embedders.base import Embedder
from envmill.models.embedders.endpoint import EndpointEmbedder
from envmill.models.embedders.lexical import Lexical
from envmill.models.embedders.minilm import MiniLM
from envmill.models.role_models import find_endpoint
from envmill.models.spec import Spec
from envmill.settings import Settings

NAMES = ("lexical", "minilm", "openai")


def open_embedder(text: str, settings: Settings) -> Embedder:
    """`lexical`, `minilm`, or a model of a compatible server as `openai:model` or `openai:model@server`."""
    spec = Spec.parse(text)
    if spec.provider not in NAMES or bool(spec.model) != (spec.provider == "openai"):
        raise SettingsError(f"{text!r} is no embedder: write lexical, minilm, or openai:MODEL, with @SERVER for a server of your own.")
    if spec.provider == "openai":
        return EndpointEmbedder(spec, ApiConnection("openai", find_endpoint(spec, settings)))
    return Lexical() if spec.provider == "lexical" else MiniLM()
