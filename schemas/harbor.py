"""`task.toml` of a Harbor folder, version 1.4: what may stand in it. A key that is not here is
refused; Harbor passes it over."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, model_validator

from schemas.base import Contract, Json

VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
"""Of the layout; what is written here is the last."""
LONGEST = 86_400.0
"""Seconds: a day. A longer time is a slip of the pen."""

Seconds: TypeAlias = Annotated[float, Field(gt=0, le=LONGEST, allow_inf_nan=False)]
Network: TypeAlias = Literal["public", "no-network", "allowlist"]
Strategy: TypeAlias = Literal["mean", "final"]


class Policed(Contract):
    """Base of whatever may name a network policy."""

    network_mode: Network | None = None
    """`no-network` shuts it, `allowlist` opens it to `allowed_hosts` alone."""
    allowed_hosts: list[str] | None = None
    """Hosts, addresses or ranges of an allowlist."""

    @model_validator(mode="after")
    def _check_hosts(self) -> "Policed":
        if self.allowed_hosts and self.network_mode != "allowlist":
            raise ValueError("allowed_hosts stands beside network_mode = 'allowlist' alone")
        return self


class Author(Contract):
    """Somebody who made it."""

    name: str
    """Name."""
    email: str | None = None
    """Address."""


class Package(Contract):
    """`[task]`: what it is called."""

    name: str = Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9._-]*/[a-zA-Z0-9][a-zA-Z0-9._-]*$")
    """`organisation/name`."""
    version: str | None = Field(default=None, min_length=1)
    """Version of the package."""
    description: str = ""
    """In a sentence."""
    authors: list[Author] = []
    """Who made it."""
    keywords: list[str] = []
    """Words to find it by."""


class Agent(Policed):
    """`[agent]`."""

    timeout_sec: Seconds | None = None
    """Time the agent has."""
    user: str | int | None = None
    """Whom it acts as; the image's user when left out."""


class Healthcheck(Contract):
    """Command that is run before the agent begins, until it succeeds."""

    command: str = Field(min_length=1)
    """Shell command; 0 is ready."""
    interval_sec: Seconds = 5.0
    """Between two attempts."""
    timeout_sec: Seconds = 30.0
    """Of one attempt."""
    start_period_sec: float = Field(default=0.0, ge=0, le=LONGEST)
    """In which failures do not count."""
    start_interval_sec: Seconds = 5.0
    """Between two attempts of that period."""
    retries: int = Field(default=3, ge=1, le=1000)
    """Failures in a row that are one too many."""


class Tpu(Contract):
    """A slice of accelerators."""

    type: str = Field(min_length=1)
    """Which."""
    topology: str = Field(pattern=r"^[1-9]\d*(x[1-9]\d*)+$")
    """Like 2x4."""


class McpServer(Contract):
    """A server of tools beside the shell."""

    name: str
    """What it is called."""
    transport: Literal["stdio", "sse", "streamable-http", "http"] = "sse"
    """How it is spoken to."""
    url: str | None = None
    """Where it is."""
    command: str | None = None
    """What starts it (`stdio`)."""
    args: list[str] = []
    """The command's arguments."""

    @model_validator(mode="after")
    def _check_address(self) -> "McpServer":
        if not (self.command if self.transport == "stdio" else self.url):
            raise ValueError(
                f"{self.transport} needs {'command' if self.transport == 'stdio' else 'url'}"
            )
        return self


class Surroundings(Policed):
    """`[environment]`: the container."""

    build_timeout_sec: Seconds = 600.0
    """Time the image may take."""
    docker_image: str | None = None
    """Image that is there already; the recipe may be missing then."""
    os: Literal["linux", "windows"] = "linux"
    """Its system."""
    cpus: int | None = Field(default=None, ge=1, le=1024)
    """Processors."""
    memory_mb: int | None = Field(default=None, ge=4)
    """Memory."""
    storage_mb: int | None = Field(default=None, ge=1)
    """Room on its disk."""
    gpus: int | None = Field(default=None, ge=0)
    """Accelerators."""
    gpu_types: list[str] | None = None
    """Any of these."""
    tpu: Tpu | None = None
    """Another kind of accelerator."""
    mcp_servers: list[McpServer] = []
    """Servers of tools."""
    env: dict[str, str] = {}
    """Variables; `${NAME}` is the host's."""
    skills_dir: str | None = None
    """Folder of skills in the container."""
    healthcheck: Healthcheck | None = None
    """What has to be so before the agent begins."""
    workdir: str | None = None
    """Folder that commands run in."""


class Collect(Contract):
    """Command that is run after the agent, before artifacts are taken."""

    command: str
    """Shell command."""
    service: str = "main"
    """Where."""
    timeout_sec: Seconds = 60.0
    """Its time."""
    user: str | int | None = None
    """As whom."""


class Judging(Policed):
    """`[verifier]`."""

    timeout_sec: Seconds = 600.0
    """Time the tests have."""
    env: dict[str, str] = {}
    """Variables."""
    user: str | int | None = None
    """As whom."""
    environment_mode: Literal["shared", "separate"] | None = None
    """Whether the tests run where the agent was."""
    environment: Surroundings | None = None
    """The other container."""
    collect: list[Collect] = []
    """What is run before."""

    @model_validator(mode="after")
    def _check_mode(self) -> "Judging":
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError(
                "environment_mode = 'shared' has no [verifier.environment]: leave one of them out"
            )
        return self


class Solving(Contract):
    """`[solution]`."""

    env: dict[str, str] = {}
    """Variables of the reference solution."""


class Artifact(Contract):
    """A file or folder that is taken out of the container."""

    source: str
    """Where it is there."""
    destination: str | None = None
    """Where it goes, below the folder of artifacts."""
    exclude: list[str] = []
    """What of a folder stays."""
    service: str | None = None
    """Which container."""


class TaskStep(Contract):
    """One of several, each with an instruction and tests of its own below `steps/`."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of its folder."""
    agent: Agent = Agent()
    """As above."""
    verifier: Judging = Judging()
    """As above."""
    min_reward: float | dict[str, float] | None = None
    """What it has to earn for the next to begin."""
    healthcheck: Healthcheck | None = None
    """What has to be so before the agent begins."""
    artifacts: list[str | Artifact] = []
    """What is taken."""


class TaskFile(Contract):
    """The whole file."""

    schema_version: Literal["1.0", "1.1", "1.2", "1.3", "1.4"]
    """Version of the layout."""
    task: Package | None = None
    """What it is called."""
    metadata: dict[str, Json] = {}
    """Whatever anybody wants to say."""
    agent: Agent = Agent()
    """The agent."""
    verifier: Judging = Judging()
    """The tests."""
    environment: Surroundings = Surroundings()
    """The container."""
    solution: Solving = Solving()
    """The reference solution."""
    source: str | None = None
    """Where it comes from."""
    multi_step_reward_strategy: Strategy | None = None
    """What several steps earn together."""
    steps: list[TaskStep] | None = None
    """Several steps in place of one."""
    artifacts: list[str | Artifact] = []
    """What is taken out of the container."""
