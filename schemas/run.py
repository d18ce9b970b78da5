"""What a run is asked to do: the one parameter of the factory and of every step."""

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from schemas.base import Contract, Json
from schemas.scenario import Polarity, Split

RecipeName = Literal["envscaler", "awm", "scaleenv", "agentscaler", "envfactory", "perturb", "endless_terminals"]
_OVER_TABLES = ("awm", "scaleenv", "agentscaler", "envfactory")
ProviderName = Literal["offline", "replay", "openai", "responses", "anthropic", "batch-openai", "batch-anthropic", "batch-lines"]
ExporterName = Literal["sft", "rl", "preferences", "dataset", "bundle", "harbor", "atif"]
PolicyName = Annotated[str, Field(pattern=r"^(reference|careless|model|skilled@(0(\.\d{1,3})?|1(\.0{1,3})?))$")]
"""`skilled@0.7` is the skilled policy of that degree; `model` is the model that `policy` names."""
_NO_USERS = ("offline", "replay", "batch-lines")
"""Providers that no conversation is held with: an author made for tests, a recording, a folder of files."""
_SPEC = r"^([a-z-]+(:\S+)?)?$"

Reward = Literal["binary", "partial"]


class RunConfig(Contract):
    """Settings of one run. A run keeps the config it started with; only `run` names it again."""

    run: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Run id")
    """Run to go on with; empty means this flow run's own id, so that Retry goes on with the same run."""
    recipe: RecipeName = Field(default="envscaler", title="Recipe")
    """How environments are thought up."""
    environments: int = Field(default=6, ge=1, le=10_000, title="Candidate environments")
    """How many seeds enter the line; with a target, how many enter it in each round."""
    target: int | None = Field(default=None, ge=1, le=10_000, title="Environments to keep")
    """How many environments should be kept: rounds of equal size, each a run of its own (`RUN-r2`, `RUN-r3`), until so many are, or the
    candidates are spent. Empty for one round."""
    max_candidates: int | None = Field(default=None, ge=1, le=100_000, title="Most candidates")
    """Most seeds that enter the line while a target is pursued; empty for four times the target."""
    first: int = Field(default=0, ge=0, title="First seed")
    """How many of the recipe's seeds are passed over: those of earlier rounds."""
    corpus: str = Field(default="", title="Corpus to mine")
    """JSONL or Parquet file whose texts the themes are mined from, or `own` for the texts that come with the factory; empty starts from
    the factory's own themes."""
    column: str = Field(default="text", min_length=1, title="Column of the corpus")
    """Column that holds the texts. A column `licence` is taken over; where there is none it is unknown, and nothing is exported."""
    texts: int | None = Field(default=None, ge=1, title="Texts to mine")
    """How many texts of the corpus are looked at, from the first; empty for all."""
    documents: str = Field(
        default="", pattern=r"^((openapi|mcp|botocore):[^,]+(,(openapi|mcp|botocore):[^,]+)*)?$", title="Documents of tools"
    )
    """What recipes `agentscaler` and `envfactory` read tools from, as `reader:source` with commas between: `openapi:FILE`, `mcp:FILE`,
    `botocore:SERVICE`; empty for the documents that come with the factory, and with `envfactory` for sketches of its own."""
    score: int = Field(default=7, ge=1, le=10, title="Least score of a theme")
    """What a mined theme must reach in usefulness and in modelability."""
    scenarios: int = Field(default=4, ge=1, le=1_000, title="Scenarios per environment")
    """How many drafts each kept environment gets."""
    polarities: dict[Polarity, Annotated[int, Field(ge=0, le=100)]] = Field(
        default={"achieve": 6, "answer": 1, "refuse": 1, "escalate": 1, "clarify": 1}, title="Mix of polarities"
    )
    """What success means, in shares: a change made, a question answered, a request rightly refused, handed on, or asked back about.
    Also as text: `achieve=6,refuse=2`."""
    checks: Literal["derived", "written"] = Field(default="derived", title="Checks")
    """Where a scenario's goals come from: derived from what the reference path changed, or written by the author as functions, which run
    in the judge's jail and are sent back when they do not hold."""
    reward: Reward = Field(default="binary", title="Reward")
    """`binary` pays for the whole job or not at all; `partial` pays the share of goals that were reached, as the paper does, where a guard
    that breaks, a change nobody asked for or a word that has to be said still decide alone."""
    review: bool = Field(default=False, title="Review by two readers")
    """Whether two models give their opinion on every environment (gate W4). It is the one gate that asks models, a hundred calls and more
    for each environment; where it is asked for, it is required."""
    judged: bool = Field(default=False, title="Judged by a model, too")
    """Whether a model rules on the ends of rollouts that their verifiers passed. It can lower a reward by less than a third, and only where
    it told right ends of the scenario from wrong ones: a dozen calls for each scenario, and one for each rollout that passes."""
    holdout: dict[Split, Annotated[int, Field(ge=0, le=50)]] = Field(default={"validation": 10, "test": 10}, title="Held out")
    """Percent of the domains whose scenarios are kept for validation and for the test, each domain whole. Also as text:
    `validation=10,test=10`, or `test=0` to train on everything."""
    attempts: int = Field(default=4, ge=1, le=64, title="Attempts per scenario")
    """Probe rollouts and, for the teacher, rollouts to choose from."""
    keep: int = Field(default=2, ge=1, le=64, title="Trajectories kept per scenario")
    """Cap per scenario, so that easy scenarios do not crowd the data."""
    pairs: int = Field(default=1, ge=0, le=64, title="Preference pairs per scenario")
    """Most pairs of a passed and a failed attempt kept of each scenario and policy."""
    tools: int | None = Field(default=None, ge=10, le=100, title="Tools per environment")
    """How many tools every environment should have; empty leaves it to the author."""
    collections: int | None = Field(default=None, ge=3, le=40, title="Collections per environment")
    """How many collections of records every environment should have; empty leaves it to the author."""
    whole: int = Field(default=24, ge=0, le=100, title="Tools of a program in one reply")
    """Programs of more tools are written in parts: the class, then the methods of a few tools at a time, put together here; 0 for all."""
    rows: int | None = Field(default=None, ge=100, le=100_000, title="Rows per scenario")
    """How many records the state of every scenario should hold; empty leaves it to the author."""
    distractors: int | None = Field(default=None, ge=1, le=5, title="Distractors per record")
    """How many near misses stand beside each record a scenario is about: alike in all but a name, a number or whose they are. Empty
    leaves it to the author."""
    enlarge: int | None = Field(default=None, ge=1, le=5, title="Rounds of more records")
    """Over tables: rounds in which every record of a scenario to achieve gets a second one beside it, under another name and with a past of
    its own. A round is kept where the reference path still does what it did; empty for none."""
    seed: int | None = Field(default=None, title="Seed")
    """Seed of the run; empty means its scheduled date, as a number like 20261121."""
    provider: ProviderName = Field(default="offline", title="Model provider")
    """Who answers prompts: the offline author, a recording played back, or a model: through OpenAI's chat completions (which most servers
    speak), OpenAI's Responses API, or Anthropic's messages; or later, through batches of OpenAI, Anthropic, or plain files."""
    model: str = Field(default="", pattern=r"^\S*$", title="Model")
    """Model to ask, as its server calls it; `model@name` asks the server that `ENVMILL_ENDPOINT_NAME` gives the address of."""
    critic: str = Field(default="", pattern=_SPEC, title="Critic's model")
    """Model that reviews, as `provider:model`; empty for the author's."""
    judge: str = Field(default="", pattern=_SPEC, title="Judge's model")
    """Model that judges, as `provider:model`; empty for the author's. Better one of another family."""
    policy: str = Field(default="", pattern=_SPEC, title="Policy's model")
    """Model that acts, as `provider:model`; empty for the author's."""
    user: str = Field(default="", pattern=_SPEC, title="User's model")
    """Model that plays the user, as `provider:model`; empty for the author's."""
    budget: float | None = Field(default=None, gt=0, allow_inf_nan=False, title="Budget in money")
    """Most money its model calls may cost, in the currency of the price file; empty for no bound. A resumed run may be given more."""
    budget_tokens: int | None = Field(default=None, gt=0, title="Budget in tokens")
    """Most tokens it may spend, input and output; empty for no bound. A resumed run may be given more."""
    reuse: str = Field(default="", pattern=r"^[a-z0-9-]{0,64}$", title="Reuse replies of")
    """Run whose replies answer the same questions again, at no cost."""
    recording: str = Field(default="", title="Recording")
    """What `replay` plays back: a run of this lake, or a file that a run was recorded to."""
    playback: Literal["strict", "by-order"] = Field(default="strict", title="Playback")
    """How `replay` finds a reply: by the very same request, or by its order, for prompts that were edited since."""
    record: str = Field(default="", title="Record to")
    """File that the run's model calls are written to, without keys, whenever one of its processes ends; empty for none."""
    embedder: str = Field(default="lexical", pattern=r"^\S+$", title="Embedder")
    """What makes texts comparable: `lexical` counts shared words and needs nothing, `minilm` is a small model in an extra,
    `openai:model` or `openai:model@server` asks a server. Rows that rest on it say which."""
    mistakes: float = Field(default=0.2, ge=0.0, le=1.0, title="Mistake rate of the offline author")
    """How often the offline author makes a mistake that models really make."""
    probe: PolicyName = Field(default="careless", title="Probe policy")
    """Policy that filter probes scenarios with: `reference`, `careless`, `skilled@0.7` (a degree from 0 to 1), or `model`, the one that
    `policy` names."""
    weak: PolicyName | Literal[""] = Field(default="", title="Weak policy")
    """Policy by which a scenario is labelled as too easy (gate F2), named as the probe is; empty for the probe itself."""
    trivial: float = Field(default=1.0, gt=0.0, le=1.0, title="Too easy from")
    """Share of the weak policy's attempts that pass from which a scenario is too easy to learn from."""
    untrainable: Literal["label", "drop"] = Field(default="label", title="What teaches nothing")
    """What becomes of scenarios that the weak policy always solves (F2), or whose attempts by the probe would all pass or all fail (F5):
    `label` keeps them with the reason code, since another policy may learn from them; `drop` drops them."""
    teacher: PolicyName = Field(default="reference", title="Teacher policy")
    """Policy whose rollouts become training data, named as the probe is."""
    form: Literal["single", "conversation", "mixed"] = Field(default="mixed", title="Form")
    """How the policy is asked: everything in one request, bit by bit in a conversation with a simulated user, or both in turn. A scenario
    whose user has nothing to tell later is always asked at once."""
    person: Literal["auto", "scripted", "model"] = Field(default="auto", validate_default=True, title="Simulated user")
    """Who plays the user of a conversation: the model that `user` names (the author's where it names none), or a script over the user
    contract, which is for plumbing. `auto` becomes `model` when the run is opened with such a model, and `scripted` when that model is
    the offline author, a recording, or a batch of files."""
    steps: int = Field(default=40, ge=1, le=1_000, title="Tool calls per rollout")
    """Most tool calls of a rollout."""
    turns: int = Field(default=16, ge=1, le=200, title="Messages to the user per rollout")
    """Most messages of a conversation's agent to the user."""
    tokens: int | None = Field(default=None, gt=0, title="Tokens per rollout")
    """Most output tokens of a model's rollout, reasoning included; empty for no bound but the model's own."""
    search: int = Field(default=400, ge=0, le=100_000, title="Sequences of the search attacker")
    """How many sequences of calls the search attacker of S13 tries on each scenario; 2,000 where time allows."""
    rehearse: bool = Field(default=True, title="Gates in the repair loop")
    """Whether versions are put to the gates while they are written, and what the gates find is sent back to the author. Without it,
    gates are asked in verify only, and drop."""
    suspicions: Literal["auto", "judge", "keep"] = Field(default="auto", title="Suspicions")
    """What becomes of suspicions, which rest on reading language: `judge` asks the judge's model about each of them, twice; `keep` asks
    nobody, and the items stay in tier `suspected`; `auto` asks where the judge is a model. Only a judge that was calibrated for a reason
    code confirms or clears it."""
    provisional: bool = Field(default=False, title="Export what is provisional")
    """Whether items go out that a required gate could not measure."""
    with_tier: Literal["", "suspected"] = Field(default="", title="Export another tier, too")
    """Tier that is exported beside `clean`: `suspected` adds items with a suspicion that no judge decided. Empty for `clean` alone."""
    exporters: tuple[ExporterName, ...] = Field(default=("sft", "rl", "preferences", "dataset", "bundle"), title="Exporters")
    """What leaves: `sft` and `preferences` for trainers that read rollouts, `rl` for those that make their own, `dataset` for
    `datasets.load_dataset`, `bundle` to play and judge with nothing installed, `harbor` for machines as Harbor folders, `atif` for
    trajectories in that format. Also as text: `sft,bundle`."""

    @field_validator("exporters", mode="before")
    @classmethod
    def _read_exporters(cls, given: Json) -> Json:
        return tuple(word.strip() for word in given.split(",") if word.strip()) if isinstance(given, str) else given

    @field_validator("polarities", "holdout", mode="before")
    @classmethod
    def _read_mix(cls, given: Json) -> Json:
        return dict(word.strip().split("=", 1) for word in given.split(",") if "=" in word) if isinstance(given, str) else given

    @field_validator("person")
    @classmethod
    def _choose_person(cls, person: str, info: ValidationInfo) -> str:
        if person != "auto":
            return person
        author = info.data.get("provider", "offline")
        player = str(info.data.get("user") or author).partition(":")[0]
        return "scripted" if player in _NO_USERS or author == "replay" else "model"

    @field_validator("holdout")
    @classmethod
    def _check_holdout(cls, shares: dict[Split, int]) -> dict[Split, int]:
        if "train" in shares:
            raise ValueError("what is not held out is trained on: give shares of validation and test alone, like validation=10,test=10")
        return shares

    @field_validator("enlarge")
    @classmethod
    def _check_enlarge(cls, rounds: int | None, info: ValidationInfo) -> int | None:
        if rounds and (recipe := info.data.get("recipe")) not in _OVER_TABLES:
            raise ValueError(
                f"recipe {recipe} makes no tables whose records could be copied: take {', '.join(_OVER_TABLES)}, or leave it out"
            )
        return rounds

    @field_validator("polarities")
    @classmethod
    def _check_mix(cls, mix: dict[Polarity, int]) -> dict[Polarity, int]:
        if not any(mix.values()):
            raise ValueError("the mix asks for no polarity at all; write it like achieve=6,refuse=2")
        return mix
