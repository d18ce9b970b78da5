"""What a run is asked to do: the one parameter of the factory and of every step."""

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator

from schemas.base import Contract, Json
from schemas.scenario import Polarity, Split

RecipeName = Literal[
    "envscaler",
    "awm",
    "scaleenv",
    "agentscaler",
    "envfactory",
    "autoforge",
    "perturb",
    "endless_terminals",
    "tau2",
]
ProviderName = Literal[
    "offline",
    "replay",
    "openai",
    "responses",
    "anthropic",
    "batch-openai",
    "batch-anthropic",
    "batch-lines",
]
ExporterName = Literal["sft", "rl", "preferences", "dataset", "bundle", "harbor", "atif", "views"]
_POLICY = r"reference|careless|model|skilled@(0(\.\d{1,3})?|1(\.0{1,3})?)"
PolicyName = Annotated[str, Field(pattern=rf"^({_POLICY})$")]
"""`skilled@0.7` is the skilled policy of that degree; `model` is the model that `policy` names."""
ChosenPolicy = Annotated[str, Field(pattern=rf"^(auto|{_POLICY})$")]
"""A policy by name, or `auto`: a config that was read holds the name of the one that it means."""
_SILENT = ("offline", "replay", "batch-lines")
"""Providers that no conversation is held with: an author made for tests, a recording, a folder of
files."""
_SCRIPTS = {"probe": "careless", "teacher": "reference", "person": "scripted"}
"""Setting → script that plays where no model can take turns."""
_SPEC = r"^([a-z-]+(:\S+)?)?$"

Reward = Literal["binary", "partial"]
DagCheck = Literal["derivable", "reasoning", "exact"]
_RUNS = r"^([a-z0-9-]{1,64}(,[a-z0-9-]{1,64})*)?$"


def number_of(day: date) -> int:
    """A day as a number like 20261121: what decides chance where no number was asked for."""
    return int(day.strftime("%Y%m%d"))


class RunConfig(Contract):
    """Settings of one run. They do not change once it has started. `run` alone resumes it."""

    run: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Run id")
    """Run to go on with. Empty uses this flow run's own id, so that Retry goes on with the same
    run."""
    recipe: RecipeName = Field(default="envscaler", title="Recipe")
    """Recipe that designs environments and scenarios."""
    environments: int = Field(default=6, ge=1, le=10_000, title="Candidate environments")
    """Number of candidate environments. With a target, the number in each round."""
    target: int | None = Field(default=None, ge=1, le=10_000, title="Environments to keep")
    """Number of environments to keep. The factory runs rounds of equal size, each a run of its own
    (`RUN-r2`, `RUN-r3`), until it has
    kept as many or has used all candidates. Empty runs one round."""
    max_candidates: int | None = Field(default=None, ge=1, le=100_000, title="Most candidates")
    """Most candidates in all rounds together. Empty allows four times the target."""
    first: int = Field(default=0, ge=0, title="First seed")
    """Number of the recipe's seeds to skip, in the order in which the run would use them."""
    fresh: bool = Field(default=True, title="Fresh seeds")
    """Start from what earlier runs of the recipe in the lake used least; the run's seed decides
    among equals. Without it, themes come in
    the order in which they are listed, and earlier runs do not count."""
    corpus: str = Field(default="", title="Corpus to mine")
    """JSONL or Parquet file to mine themes from, or `own` for the texts that come with the factory.
    Empty uses the factory's own
    themes."""
    column: str = Field(default="text", min_length=1, title="Column of the corpus")
    """Column of the corpus that holds the texts. The column `licence` is used where there is one;
    without it the licence is unknown,
    and nothing is exported."""
    texts: int | None = Field(default=None, ge=1, title="Texts to mine")
    """Number of texts of the corpus to mine, from the first. Empty mines all."""
    documents: str = Field(
        default="",
        pattern=r"^((openapi|mcp|botocore|list):[^,]+(,(openapi|mcp|botocore|list):[^,]+)*)?$",
        title="Documents of tools",
    )
    """Documents that some recipes read tools from, as `reader:source` separated by commas:
    `openapi:FILE`, `mcp:FILE`, `botocore:SERVICE`,
    `list:FILE` for a file that names one such source a line. `list:services` ships with the factory: 29 documents in more
    than twenty domains. Empty uses what such a recipe starts from otherwise, for example the
    documents that come with the factory."""
    candidates: Literal["names", "lexical", "minilm"] = Field(
        default="names", title="Candidate pairs of tools"
    )
    """What proposes which tools of documents belong together, besides names and tables. `lexical`
    compares parameter lists by the words
    they share, `minilm` by a small model in the extra `minilm`. A pair whose cosine reaches
    `likeness` is used to divide the tools into domains, and a walk follows it if the author's model
    calls it strong or weak. `names` proposes no further pairs."""
    likeness: float = Field(default=0.6, ge=0.0, le=1.0, title="Least likeness of a candidate pair")
    """Least cosine of two parameter lists that makes the two tools a candidate pair."""
    systems: Literal["own", "operators", "written"] = Field(
        default="own", title="Systems to perturb"
    )
    """What recipe `perturb` breaks. `own`: the factory's fourteen systems, by its own operators.
    `operators`: these systems, and fault
    operators that the author's model proposes as well. `written`: systems and operators that the
    model proposes, as many as are asked
    for. What it proposes is kept only if machines prove it."""
    score: int = Field(default=7, ge=1, le=10, title="Least score of a theme")
    """Least score that a mined theme must reach in usefulness and in modelability."""
    environments_of: str = Field(default="", pattern=_RUNS, title="Environments of earlier runs")
    """Runs, separated by commas, whose kept environments this run starts from. No environment is
    written again: `scenarios` more are
    drafted for each, beside those that it has. All runs are of one recipe."""
    harden: str = Field(default="", pattern=_RUNS, title="Make scenarios of earlier runs harder")
    """Runs, separated by commas, whose easy scenarios get a harder one in the same environment. A
    scenario is easy if a policy passes it
    more often than `above`. Nothing of the earlier runs changes, and no environment is written
    again."""
    above: float = Field(default=0.9, ge=0.0, lt=1.0, title="Easy above")
    """Pass rate above which a scenario is easy."""
    for_policy: str = Field(default="", pattern=r"^\S*$", title="Easy for policy")
    """Policy for which easy scenarios are made harder, as rollouts name it. Empty takes the policy
    with the best pass rate in the earlier
    runs; `reference`, which knows the path, does not count."""
    least_attempts: int = Field(default=3, ge=1, title="Least attempts at an easy scenario")
    """Judged attempts of the policy that a scenario needs before it can count as easy."""
    rates: str = Field(default="", title="Pass rates from a file")
    """JSONL file of attempts that were made elsewhere, used instead of stored rollouts. A line
    holds `scenario`, `attempts` and `passes`,
    or the `outcome` of one attempt, and, if known, `policy` and `calls`."""
    clusters: Literal["", "lexical", "minilm"] = Field(default="", title="Clusters of themes")
    """Embedding by which mined and named themes are clustered, into as many clusters as
    environments are wanted; clusters take turns.
    `lexical` compares words and letters, `minilm` asks a small model in an extra. Empty orders themes by worth and likeness alone."""
    per_field: int = Field(default=80, ge=0, le=10_000, title="Most themes of a field of work")
    """Most mined and named themes of one field of work that all runs of the recipe in the lake
    start from together. A theme of a field
    that is full goes no further. 0 sets no limit."""
    scenarios: int = Field(default=4, ge=1, le=1_000, title="Scenarios per environment")
    """Number of scenarios to draft for each kept environment."""
    polarities: dict[Polarity, Annotated[int, Field(ge=0, le=100)]] = Field(
        default={"achieve": 6, "answer": 1, "refuse": 1, "escalate": 1, "clarify": 1},
        title="Mix of polarities",
    )
    """Mix of what success means, in shares: make a change, answer a question, refuse a request,
    escalate it, or ask back about it.
    Written like `achieve=6,refuse=2`."""
    chains: Literal["contract", "free"] = Field(default="contract", title="Sampled chains")
    """What a sampled chain of tools is to a scenario's author. `contract`: only chains that were
    carried out in the environment are
    offered, the reference path must contain the chain, and the author may answer that it is
    infeasible. `free`: chains are suggestions
    that nobody checks."""
    dag: tuple[DagCheck, ...] = Field(
        default=("derivable", "reasoning", "exact"), title="Checks of graphs"
    )
    """Properties that recipe `autoforge` checks in the graph of a scenario that was carried out.
    `derivable`: if any one node is left out, the values that depend on it cannot be derived from
    the request and the other replies. `reasoning`: a node works something out, and gives what its
    author says. `exact`: the rows that the author names as needed suffice for the graph, and fewer
    do not. Written like
    `derivable,exact`; empty checks nothing."""
    requests: int = Field(default=1, ge=1, le=5, title="Requests per scenario")
    """Most requests that the user of a scenario makes, one after the other over one state. With 3,
    scenarios make one, two and three in
    turn. Recipe `envfactory` alone writes more than one, and only where something is to be
    achieved."""
    servers: int = Field(default=1, ge=1, le=3, title="Servers per environment")
    """Most servers that an environment is made of. Each has tools and tables of its own, and they
    share identities such as a person. With
    3, environments have three, two and one in turn, and a path needs at least two where there are
    several. Recipe `envfactory` alone makes
    more than one, and only of known places."""
    plan: bool = Field(default=True, title="Plan scenarios together")
    """Plan the scenarios of each environment together, eight at a time, before they are written:
    who asks, for what, with which tools.
    Without it, each scenario's author knows nothing of the others."""
    checks: Literal["derived", "written"] = Field(default="derived", title="Checks")
    """Source of a scenario's goals: derived from what the reference path changed, or written by the
    author as functions. Written checks
    run in the judge's jail and are sent back when they fail."""
    reward: Reward = Field(default="binary", title="Reward")
    """`binary` pays 1 when the whole job is done, else 0. `partial` pays the share of goals that
    were reached; a broken guard, an
    unrequested change or a missing statement still gives 0."""
    review: bool = Field(default=False, title="Review by two readers")
    """Ask two models for their opinion on every environment (gate W4). This takes a hundred model
    calls or more for each environment,
    and makes the gate required."""
    reviewed: int | None = Field(
        default=None, ge=10, le=400, title="Calls reviewed per environment"
    )
    """Number of calls that the two readers of a review try on every environment, spread over its
    tools. Empty takes four for each tool, and
    at least 30. EnvScaler makes 30 to 100."""
    judged: bool = Field(default=False, title="Judged by a model, too")
    """Ask a model to judge the ends of rollouts that their verifiers passed. It can lower a reward
    by less than a third, and only where
    it told right ends of the scenario from wrong ones. It takes a dozen calls for each scenario,
    and one for each rollout that
    passes."""
    holdout: dict[Split, Annotated[int, Field(ge=0, le=50)]] = Field(
        default={"validation": 10, "test": 10}, title="Held out"
    )
    """Percentage of the domains held out for validation and for the test; each domain stays whole.
    Written like
    `validation=10,test=10`; `test=0` trains on everything."""
    attempts: int = Field(default=4, ge=1, le=64, title="Attempts per scenario")
    """Number of probe rollouts per scenario, and of teacher rollouts to choose from."""
    keep: int = Field(default=2, ge=1, le=64, title="Trajectories kept per scenario")
    """Most trajectories kept per scenario, so that easy scenarios do not dominate the data."""
    pairs: int = Field(default=1, ge=0, le=64, title="Preference pairs per scenario")
    """Most preference pairs kept per scenario and policy. A pair holds a passed and a failed
    attempt."""
    exact: bool = Field(default=True, title="Whole changes in tests")
    """Hold each accepted call of a stored test to the whole change that its author expects: what
    the test does not name stays as it was.
    For recipes whose tests bring rows of their own. Without it, a test is held to the parts of the
    change that it names."""
    promises: bool = Field(default=True, title="Hold tools to their plan")
    """Compare what the plan says of each tool, what it requires before and ensures after a call,
    with what the program does, and send
    back what differs. For recipes whose plans say it."""
    summary: bool = Field(default=True, title="Sum up errors for repairs")
    """Ask the author's model for a summary of all complaints so far before a program is repaired a
    second time, or has five complaints and
    more. For recipes that sum them up (`awm`)."""
    tools: int | None = Field(default=None, ge=10, le=100, title="Tools per environment")
    """Number of tools per environment. Empty leaves it to the author."""
    collections: int | None = Field(default=None, ge=3, le=40, title="Collections per environment")
    """Number of collections of records per environment. Empty leaves it to the author."""
    whole: int = Field(default=24, ge=0, le=100, title="Tools of a program in one reply")
    """Most tools of a program that is written in one reply. A larger program is written in parts:
    the class first, then the methods of
    a few tools at a time. 0 writes every program in parts."""
    rows: int | None = Field(default=None, ge=100, le=100_000, title="Rows per scenario")
    """Number of records in the state of every scenario. Empty leaves it to the author."""
    visible: int | None = Field(default=None, ge=20, le=200, title="Tools shown to agents")
    """Number of tools that agents are shown: an environment's own, and besides them tools of other
    services that hold none of its records.
    A terminal has
    its one tool whatever is asked. Empty shows only its own."""
    calls: int | None = Field(default=None, ge=3, le=150, title="Calls per reference path")
    """Number of calls of every reference path to achieve something, within a quarter more or less.
    The simulated rollouts need as many
    `steps`. Empty leaves it to the author, who makes 3 to 25."""
    distractors: int | None = Field(default=None, ge=1, le=5, title="Distractors per record")
    """Number of near misses per record that a scenario is about. A near miss differs only in a
    name, a number or its owner. Empty
    leaves it to the author."""
    enlarge: int | None = Field(default=None, ge=1, le=5, title="Rounds of more records")
    """Rounds that enlarge a scenario over tables: each round adds a copy of every record under
    another name and with a history of its
    own. A round is kept if the reference path still does what it did. Empty adds no records."""
    reach: int = Field(default=20, ge=0, le=100, title="Tools reached per scenario")
    """Number of tools of which a call succeeds in the world of every scenario, or all tools of an
    environment that has fewer; for recipes
    that grow worlds. Where a scenario's state does not have what the tools need, the author adds
    records. 0 leaves the worlds as they
    are."""
    natural: bool = Field(default=True, title="Judge added records")
    """Ask the judge's model whether records that were added to a world belong there, the more often
    the more complex the world is. It is
    asked where suspicions are put to a judge. Without it, execution alone decides."""
    seed: int | None = Field(default=None, title="Seed")
    """Number that decides everything left to chance. Empty uses the scheduled date, as a number
    like 20261121."""
    provider: ProviderName = Field(default="offline", title="Model provider")
    """Provider that answers prompts: the offline author, a recording, or a model. A model is asked
    through OpenAI's chat completions
    (which most servers speak), OpenAI's Responses API or Anthropic's messages, or in batches
    through OpenAI, Anthropic or plain
    files."""
    model: str = Field(default="", pattern=r"^\S*$", title="Model")
    """Model to ask, as its server names it. `model@name` asks the server whose address is in
    `ENVMILL_ENDPOINT_NAME`; see `envmill
    models`."""
    critic: str = Field(default="", pattern=_SPEC, title="Critic's model")
    """Model that reviews, as `provider:model`. Empty uses the author's model."""
    judge: str = Field(default="", pattern=_SPEC, title="Judge's model")
    """Model that judges, as `provider:model`. Empty uses the author's model. A model of another
    family judges better."""
    policy: str = Field(default="", pattern=_SPEC, title="Policy's model")
    """Model that acts as the agent, as `provider:model`. Empty uses the author's model."""
    user: str = Field(default="", pattern=_SPEC, title="User's model")
    """Model that plays the user, as `provider:model`. Empty uses the author's model."""
    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False, title="Budget in money")
    """Most money that model calls may cost, in the currency of the price file. Empty sets no limit.
    A resumed run may be given a new
    limit."""
    budget_tokens: int | None = Field(default=None, gt=0, title="Budget in tokens")
    """Most tokens that model calls may use, input and output together. Empty sets no limit. A
    resumed run may be given a new limit."""
    reuse: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Reuse replies of")
    """Run whose replies answer the same questions again, at no cost."""
    recording: str = Field(default="", title="Recording")
    """Recording that the provider `replay` plays back: a run of this lake, or a file that a run was
    recorded to."""
    playback: Literal["strict", "by-order"] = Field(default="strict", title="Playback")
    """How the provider `replay` finds a reply: by the exact request, or by its position, for
    prompts that were edited since."""
    record: str = Field(default="", title="Record to")
    """File to write the run's model calls to, without keys, when one of its processes ends. Empty
    writes none."""
    mistakes: float = Field(default=0.2, ge=0.0, le=1.0, title="Mistake rate of the offline author")
    """Share of replies in which the offline author makes a mistake that models make, too."""
    probe: ChosenPolicy = Field(default="auto", validate_default=True, title="Probe policy")
    """Policy that filter probes scenarios with: `reference`, `careless`, `skilled@0.7` (a degree
    from 0 to 1), or `model` for the model
    that `policy` names (the author's if it names none). `auto` uses the model, or `careless` if
    that is the offline author, a recording
    or a batch of files."""
    pass_at: int | None = Field(default=None, ge=2, le=64, title="Pass at")
    """Number of probe attempts of which a model has to pass one (pass@16 > 0 with 16), in place of
    `attempts`. All of
    them are made, so that the view `pass_rate` estimates pass@16. The probe policy must be a model
    or `skilled@…`. Empty makes
    `attempts` probes."""
    weak: PolicyName | Literal[""] = Field(default="", title="Weak policy")
    """Policy by which gate F2 labels a scenario as too easy, named like the probe policy. Empty
    uses the probe policy."""
    trivial: float = Field(default=1.0, gt=0.0, le=1.0, title="Too easy from")
    """Share of the weak policy's attempts that must pass before a scenario counts as too easy."""
    untrainable: Literal["label", "drop"] = Field(default="label", title="What teaches nothing")
    """What happens to scenarios that the weak policy always solves (F2), or whose probe attempts
    would all pass or all fail (F5).
    `label` keeps them with the reason code, since another policy may learn from them; `drop` drops them."""
    teacher: ChosenPolicy = Field(default="auto", validate_default=True, title="Teacher policy")
    """Policy whose rollouts become training data, named like the probe policy. `auto` uses the
    model, or `reference` where the probe
    policy would be a script."""
    form: Literal["single", "conversation", "mixed"] = Field(default="mixed", title="Form")
    """How the policy receives a request: all at once, piece by piece in a conversation with a
    simulated user, or both in turn. A
    scenario whose user has nothing to tell later is always asked at once."""
    person: Literal["auto", "scripted", "model"] = Field(
        default="auto", validate_default=True, title="Simulated user"
    )
    """Who plays the user of a conversation: a model, or a script over the user contract, which is
    meant for plumbing. `auto` uses the
    model that `user` names (the author's if it names none), or the script if that is the offline
    author, a recording or a batch of
    files."""
    manners: Literal["contract", "split"] = Field(default="contract", title="Manners of users")
    """How simulated users talk and act. `contract` leaves it to each scenario's persona; `split`
    gives attempts the manners of the
    scenario's split in turn: those of `train` for `train` and `validation`, those of `test` for
    `test`."""
    steps: int = Field(default=40, ge=1, le=1_000, title="Tool calls per rollout")
    """Most tool calls per rollout."""
    turns: int = Field(default=16, ge=1, le=200, title="Messages to the user per rollout")
    """Most messages of the agent to the user per conversation."""
    tokens: int | None = Field(default=None, gt=0, title="Tokens per rollout")
    """Most output tokens of a model per rollout, reasoning included. Empty leaves the model's own
    limit."""
    search: int = Field(default=400, ge=0, le=100_000, title="Sequences of the search attacker")
    """Number of call sequences that the search attacker of gate S13 tries on each scenario. 2,000
    finds more, where time allows."""
    results: bool = Field(default=True, title="Results may be used")
    """Let an argument of a reference path be the result of an earlier call, such as the id of a
    record that the path makes. Without it,
    prompts ask for fixed values only and references are not read."""
    fairness: bool = Field(default=True, title="Map demands to words")
    """Ask the judge's model once for each scenario which words ask for each demand of its verifier,
    and which demand notices each wish.
    Gate S16 asks this where suspicions are put to a judge."""
    coverage: bool = Field(default=True, title="Cover every rule with a test")
    """Ask the judge's model once for each environment which rules no stored test breaks with which
    tool. The calls that it names are made:
    those that are refused become tests, and those that are accepted, too, where the judge confirms
    twice that the rule forbids them. It is
    asked where suspicions are put to a judge."""
    rehearse: bool = Field(default=True, title="Gates in the repair loop")
    """Run the gates while items are written, and send their findings back to the author. Without
    it, the gates run in verify only, and
    drop."""
    suspicions: Literal["auto", "judge", "keep"] = Field(default="auto", title="Suspicions")
    """What happens to suspicions, which rest on reading language. `judge` asks the judge's model
    twice about each; `keep` asks no model
    and leaves the items in tier `suspected`; `auto` asks if the judge is a model. Only a judge that
    was calibrated for a reason code
    can confirm or clear it."""
    observe: bool = Field(default=False, title="Observe")
    """Let the gates of `verify` and `filter` record instead of dropping. What they would have
    dropped goes on in tier `observed`, which no
    export takes: it can be played and read, so that the precision of a gate can be measured. What
    cannot be played is dropped all the
    same."""
    provisional: bool = Field(default=False, title="Export what is provisional")
    """Export items that a required gate could not measure."""
    token_ids: bool = Field(default=False, title="Keep token ids")
    """Ask the policy's server for the ids and log probabilities of the tokens that it samples, and
    keep them beside each message. vLLM and
    SGLang give both. A server that refuses is asked without."""
    with_tier: Literal["", "suspected"] = Field(default="", title="Export another tier, too")
    """Tier to export besides `clean`: `suspected` adds items with a suspicion that no judge
    decided. Empty exports `clean` alone."""
    scripted: bool = Field(default=False, title="Export what scripts did")
    """Export to `sft` the trajectories of scripted policies in environments that a model wrote.
    Without it, `sft` leaves them out, and
    the ledger names their scenarios."""
    exporters: tuple[ExporterName, ...] = Field(
        default=("sft", "rl", "preferences", "dataset", "bundle"), title="Exporters"
    )
    """Formats to export. `sft` and `preferences` are for trainers that read rollouts, `rl` for
    trainers that make their own, `dataset`
    for `datasets.load_dataset`. `bundle` can be played and judged with nothing installed. `harbor`
    writes machines as Harbor folders,
    `atif` trajectories in that format, `views` what `sft` holds in the formats of other vendors. Written like `sft,bundle`."""

    @property
    def given_by(self) -> list[str]:
        """Earlier runs whose environments this run starts from; empty where it makes its own."""
        return list(
            dict.fromkeys(run for run in (self.harden or self.environments_of).split(",") if run)
        )

    @classmethod
    def read(cls, stored: Mapping[str, Json]) -> Self:
        """Parse the config of a stored run. Settings that this version does not have are ignored."""
        return cls.model_validate(
            {name: value for name, value in stored.items() if name in cls.model_fields}
        )

    @property
    def run_seed(self) -> int:
        """The number that decides everything left to chance. The field `seed` keeps what was asked
        for, under the name it is stored by."""
        return self.seed or 0

    def opened_on(self, day: date) -> Self:
        """The config with a run seed: the given one, or else the day as a number."""
        return self if self.seed is not None else self.model_copy(update={"seed": number_of(day)})

    @field_validator("exporters", "dag", mode="before")
    @classmethod
    def _read_words(cls, given: Json) -> Json:
        return (
            tuple(word.strip() for word in given.split(",") if word.strip())
            if isinstance(given, str)
            else given
        )

    @field_validator("polarities", "holdout", mode="before")
    @classmethod
    def _read_mix(cls, given: Json) -> Json:
        return (
            dict(word.strip().split("=", 1) for word in given.split(",") if "=" in word)
            if isinstance(given, str)
            else given
        )

    @field_validator("probe", "teacher", "person")
    @classmethod
    def _choose_player(cls, given: str, info: ValidationInfo) -> str:
        """A model wherever one can take turns: a script is no judge of a world that a model
        wrote."""
        if given != "auto":
            return given
        author = info.data.get("provider", "offline")
        role = "user" if info.field_name == "person" else "policy"
        player = str(info.data.get(role) or author).partition(":")[0]
        return (
            _SCRIPTS[str(info.field_name)] if player in _SILENT or author == "replay" else "model"
        )

    @field_validator("pass_at")
    @classmethod
    def _check_pass_at(cls, given: int | None, info: ValidationInfo) -> int | None:
        if given is not None and info.data.get("probe") in ("reference", "careless"):
            raise ValueError(
                "pass_at counts what a model solves, and the probe is a script: name a model, "
                "like --policy openai:NAME"
            )
        return given

    @field_validator("holdout")
    @classmethod
    def _check_holdout(cls, shares: dict[Split, int]) -> dict[Split, int]:
        if "train" in shares:
            raise ValueError(
                "what is not held out is trained on: give shares of validation and test alone, "
                "like validation=10,test=10"
            )
        return shares

    @field_validator("polarities")
    @classmethod
    def _check_mix(cls, mix: dict[Polarity, int]) -> dict[Polarity, int]:
        if not any(mix.values()):
            raise ValueError(
                "the mix asks for no polarity at all; write it like achieve=6,refuse=2"
            )
        return mix
