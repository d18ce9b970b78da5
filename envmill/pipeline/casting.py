"""The cast of a run, for what its rows rest on: which model played which part. A run keeps the
settings it began with."""

from envmill.interop.exporters.sources import Cast, name_model
from envmill.models.base import Role
from envmill.models.role_models import read_specs
from schemas.run import RunConfig


def read_cast(config: RunConfig) -> Cast:
    """Whoever has no part of its own leaves it to the author's model."""
    specs = read_specs(config)

    def name(role: Role) -> str:
        spec = specs.get(role, specs["author"])
        return name_model(spec.provider, str(spec).partition(":")[2])

    users = [name("user")] if config.person == "model" else []
    return {
        "author": [name("author")],
        "judge": [name("judge"), name("critic")],
        "teacher": [name("policy")],
        "user": users,
    }
