"""The lock of an export: everything that decides its bytes, and the hash of every file."""

from schemas.base import Contract, Json
from schemas.scenario import Split


class ExportOptions(Contract):
    """What was asked for, besides the runs."""

    exporters: tuple[str, ...] = ()
    """Exporters that write."""
    consumers: tuple[str, ...] = ()
    """Consumers that get a folder."""
    splits: tuple[Split, ...] = ("train", "validation", "test")
    """Splits that leave."""
    provisional: bool = False
    """Whether items leave that a required gate could not measure."""
    suspected: bool = False
    """Whether items with an undecided suspicion leave."""
    scripted: bool = False
    """Whether `sft` gets what scripts did in environments that a model wrote."""
    band: str = ""
    """Pass rates that select scenarios, as LEAST,MOST."""
    for_policy: str = ""
    """Policy whose pass rate selects them."""
    partial: bool = False
    """Whether verifiers may pay for parts."""
    attempts: bool = False
    """Whether `rl` has a row for each stored attempt."""
    turn_reward: float = 0.0
    """What a turn is paid that meets all goals."""


class LockedVersions(Contract):
    """The code that made, judged and wrote it."""

    envmill: str
    """Version of EnvMill."""
    verifiers: str
    """Hash of the code that judges."""
    runtime: str
    """Hash of the runtime, in which programs run inside the jail."""
    jail: str
    """Hash of the code that opens the jail."""
    exporters: str
    """Hash of the exporters, and of what they write into a folder."""
    libraries: dict[str, str]
    """Libraries that write bytes of it → version."""


class LockedScenario(Contract):
    """A scenario that leaves."""

    content: str
    """SHA-256 of its record."""
    verifier: str
    """SHA-256 of its verifier."""
    draft: str
    """Draft that it was built from."""
    environment: str
    """Environment id."""
    split: Split
    """Split."""
    tier: str
    """`clean` or `suspected`."""


class LockedFolder(Contract):
    """A folder that the export writes."""

    name: str
    """Folder, relative to the one that all of it lies in."""
    exporter: str
    """Exporter, or consumer."""
    rows: int
    """Rows in it."""
    files: dict[str, str]
    """Path → SHA-256."""
    order: dict[str, list[str]] = {}
    """File of rows → their ids, in order."""


class LockedModel(Contract):
    """A model that had a part in the runs."""

    role: str
    """Part that it played."""
    model: str
    """`provider:model`."""
    served: str
    """Model as the server named it; empty when it did not."""


class LockedStep(Contract):
    """What became of everything that entered one step; the card of `dataset` has it."""

    step: str
    """Step."""
    kept: int
    """How many were kept."""
    dropped: int
    """How many were not."""
    reasons: dict[str, int]
    """Reason → how many were dropped for it."""
    tokens: int
    """Tokens that it took."""
    cost: float | None
    """Money that it took; null when a price is unknown."""


class LockedTokenizer(Contract):
    """The tokenizer of rows with token ids."""

    name: str
    """Its folder's name."""
    files: dict[str, str]
    """File of it → SHA-256."""
    templates: list[str]
    """SHA-256 of its chat templates."""
    template_args: dict[str, Json]
    """Variables that the template was given."""


class DataLock(Contract):
    """An export, pinned."""

    lock: int = 1
    """Version of this file's form."""
    versions: LockedVersions
    """The code."""
    runs: dict[str, dict[str, Json]]
    """Run → settings that it began with."""
    options: ExportOptions
    """What was asked for."""
    tokenizer: LockedTokenizer | None = None
    """What rows with token ids were encoded by; null without any."""
    terms: str | None = None
    """Text of the terms that rows were held to; null where nobody gave any."""
    environments: dict[str, str]
    """Environment → SHA-256 of its record."""
    tests: dict[str, str]
    """Test → SHA-256 of its record."""
    scenarios: dict[str, LockedScenario]
    """Scenarios that leave."""
    trajectories: dict[str, str]
    """Trajectory → SHA-256 of its record."""
    pairs: dict[str, str]
    """Pair → SHA-256 of its record."""
    attempts: dict[str, str]
    """Rollout → SHA-256 of what is written of it as an attempt."""
    transcripts: dict[str, str] = {}
    """Rollout → SHA-256 of its messages and the log of its turns, where rows of attempts were asked
    for."""
    judged_by: dict[str, int]
    """Versions of the judging code that gave the rewards → how many rollouts: no more than one
    version."""
    models: list[LockedModel]
    """Models of the runs."""
    prompts: dict[str, list[str]]
    """Prompt → hashes of its text in the runs."""
    stays: dict[str, str]
    """Scenario or draft of the runs that does not leave → why."""
    withdrawn: dict[str, str]
    """What of the runs was withdrawn when it was locked → why."""
    steps: list[LockedStep]
    """The way through the runs' steps."""
    folders: list[LockedFolder]
    """What is written."""
