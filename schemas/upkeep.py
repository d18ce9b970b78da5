"""What upkeep is asked to do: the one parameter of each of its flows."""

from pydantic import Field

from schemas.base import Contract


class ReverifyConfig(Contract):
    """Settings of one re-verification."""

    environments: int = Field(default=50, ge=1, le=400, title="Environments")
    """How many shipped environments are judged again, those first that were judged longest ago."""
    search: int = Field(default=200, ge=0, le=100_000, title="Sequences of the search attacker")
    """How many new sequences of calls are tried on each scenario, after every attack that is
    known."""
    seed: int | None = Field(default=None, title="Seed")
    """Where chance begins; empty means the scheduled date, so that each week tries something
    else."""


class CompactConfig(Contract):
    """Settings of one compaction."""

    run: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Run id")
    """Run to compact; empty for every run."""
    grace: float = Field(default=3600.0, ge=0.0, title="Grace")
    """Seconds that replaced files stay for readers that listed them before."""
