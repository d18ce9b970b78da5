"""What a run is asked to do: the one parameter of the factory and of every step."""

from typing import Literal

from pydantic import Field

from schemas.base import Contract

RecipeName = Literal["envscaler"]
ProviderName = Literal["offline", "replay"]
PolicyName = Literal["reference", "careless"]


class RunConfig(Contract):
    """Settings of one run. A run keeps the config it started with; only `run` names it again."""

    run: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Run id")
    """Run to go on with; empty means this flow run's own id, so that Retry goes on with the same run."""
    recipe: RecipeName = Field(default="envscaler", title="Recipe")
    """How environments are thought up."""
    environments: int = Field(default=6, ge=1, le=10_000, title="Candidate environments")
    """How many seeds enter the line."""
    scenarios: int = Field(default=4, ge=1, le=1_000, title="Scenarios per environment")
    """How many drafts each kept environment gets."""
    attempts: int = Field(default=4, ge=1, le=64, title="Attempts per scenario")
    """Probe rollouts and, for the teacher, rollouts to choose from."""
    keep: int = Field(default=2, ge=1, le=64, title="Trajectories kept per scenario")
    """Cap per scenario, so that easy scenarios do not crowd the data."""
    seed: int | None = Field(default=None, title="Seed")
    """Seed of the run; empty means its scheduled date, as a number like 20261121."""
    provider: ProviderName = Field(default="offline", title="Model provider")
    """Who answers prompts: the offline author, or a recording played back."""
    recording: str = Field(default="", title="Recording")
    """Run whose model calls `replay` plays back."""
    mistakes: float = Field(default=0.2, ge=0.0, le=1.0, title="Mistake rate of the offline author")
    """How often the offline author makes a mistake that models really make."""
    probe: PolicyName = Field(default="careless", title="Probe policy")
    """Scripted policy that filter probes scenarios with."""
    teacher: PolicyName = Field(default="reference", title="Teacher policy")
    """Scripted policy whose rollouts become training data."""
