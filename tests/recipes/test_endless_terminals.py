"""Recipe `endless_terminals`: even cells, prompts of each part, repairs, and errands that hold."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

import offline as author
from envmill.base.errors import BuildError, SandboxError
from envmill.base.settings import Settings
from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, GateContext, ScenarioCase
from envmill.gates.w10 import find_duplicates
from envmill.kinds.authoring.complaint import Complaint
from envmill.kinds.authoring.repair import FIRST
from envmill.kinds.terminal.breaking.systems import load_system
from envmill.kinds.terminal.errands import outfitting
from envmill.kinds.terminal.errands.images import read_image
from envmill.kinds.terminal.errands.outfitting import outfit, read_errand
from envmill.kinds.terminal.errands.space import load_space
from envmill.kinds.terminal.errands.trying import ErrandTrial, try_machine, try_solution
from envmill.kinds.terminal.errands.wishes import find_errand_faults
from envmill.kinds.terminal.gates import LOOKS
from envmill.kinds.terminal.lending import lend_container
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.models.lint import SLOT
from envmill.pipeline.line import STEP, STEPS
from envmill.recipes import endless_terminals
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import Container
from envmill.sandbox.machines.exams import find_exam_faults
from envmill.sandbox.machines.files import FINAL, INITIAL
from envmill.sandbox.machines.machine import check_health
from envmill.stages.build import build_environment, build_scenario
from envmill.stages.context import PlacedScenario, RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from flows.opening import open_walk
from offline.errands import MISTAKES, WRITERS, answer, compose_job
from offline.errands.base import load_deeds
from offline.errands.compose import Job, choose_deeds
from offline.errands.worlds import WORLDS
from schemas.base import is_object
from schemas.environment import Blueprint, Environment
from schemas.errand import Errand, Image
from schemas.run import RunConfig
from schemas.scenario import Draft, Scenario
from schemas.seed import Seed
from tests.kinds.conftest import terminals
from tests.soak import count

__all__ = ["terminals"]

SEED = 3
RECIPE = endless_terminals.make(read_themes())
EVERY = count(15, 210)
CAUGHT: dict[str, str] = {
    "looks_ahead": "not_as_told",
    "no_python": "bad_test",
    "passes_untouched": "passes_untouched",
    "needs_network": "bad_test oracle_fails",
    "another_value": "",
    "forgets_file": "bad_image does_not_build not_as_told",
    "fetches": "bad_image",
    "breaks": "does_not_build",
    "leaves_answer": "tells_answer bad_image",
    "misses_step": "oracle_fails",
    "strays": "oracle_strays",
    "mistypes": "step_fails",
}
"""Mistake → what a trial says of it; those by luck are the gates' that repeat."""


class Asked:
    """The offline author, as whoever is asked; it keeps what it was asked."""

    provider, model = "offline", "none"

    def __init__(self, mistakes: float = 0.0, sample: int = 0) -> None:
        self.questions: list[tuple[str, dict[str, Any]]] = []
        self.told = list[str]()
        self._mistakes, self._sample = mistakes, sample
        self.last_asked: Any = None

    def afresh(self, number: int, warning: str = "") -> "Asked":
        return self

    async def ask(
        self, prompt: Any, inputs: Any, reply: Any, *, complaint: str = "", **_: Any
    ) -> Any:
        given = inputs.model_dump(mode="json")
        self.questions.append((prompt.name, given))
        self.told += [complaint] if complaint else []
        return reply.model_validate_json(
            answer(prompt.name, given, SEED, self._sample, self._mistakes)
        )


def pick(number: int, **config: Any) -> list[Seed]:
    return RECIPE.pick_seeds(
        RunConfig(recipe="endless_terminals", environments=number, seed=SEED, **config)
    )


def of(category: str) -> Seed:
    return next(
        seed
        for seed in pick(90)
        if seed.brief.theme == category and seed.brief.cell and seed.brief.cell.steps == 1
    )


async def plan(seed: Seed) -> Blueprint:
    return await RECIPE.think_up(seed, FIRST, cast(Any, Asked()))


def make_mill(sandbox: Any, rehearse: bool = False) -> RunContext:
    config = RunConfig(recipe="endless_terminals", seed=SEED, rehearse=rehearse, suspicions="keep")
    return RunContext("r", config, cast(Any, None), RECIPE, cast(Any, None), sandbox)


def test_the_least_filled_cells_come_first() -> None:
    space, seeds = load_space(), pick(120)
    cells = [seed.brief.cell for seed in seeds if seed.brief.cell]
    for counts in (
        Counter(each.category for each in cells),
        Counter(each.persona for each in cells),
    ):
        assert max(counts.values()) - min(counts.values()) <= 1
    assert {(each.category, each.complexity) for each in cells} == {
        (a, b) for a in space.categories for b in space.complexities
    }
    assert len({seed.id for seed in seeds}) == len(seeds)
    assert [seed.id for seed in pick(120)] == [seed.id for seed in seeds]
    assert len(space.categories) >= 12


def test_every_category_has_its_world_and_every_slot_a_value() -> None:
    assert set(WORLDS) == set(load_space().categories)
    for seed in pick(EVERY):
        job = compose_job(seed.brief, SEED)
        texts = [
            job.errand.request,
            job.errand.at_the_end,
            job.initial_test,
            job.final_test,
            *job.commands,
            job.image.recipe,
        ]
        assert not [text for text in texts if SLOT.search(text)]
        assert list(find_errand_faults(job.errand)) == []
        assert [*find_exam_faults(job.initial_test), *find_exam_faults(job.final_test)] == []
        read_image(job.image, seed.brief.theme, "about", "Apache-2.0")


def test_deeds_come_again_only_when_all_choices_were_made() -> None:
    for category in WORLDS:
        deeds = load_deeds(category)
        for steps in (1, 2, 3):
            chosen = [choose_deeds(deeds, steps, number) for number in range(30)]
            assert len(set(chosen)) == len(set(chosen[: len(set(chosen))])), category
        assert len(deeds) >= 4


async def test_each_part_is_told_what_it_may_know() -> None:
    blueprint, asking = await plan(of("log_analysis")), Asked()
    made: Mapping[Any, str] = {"initial_test": "", "final_test": ""}
    for part in ("initial_test", "image", "final_test", "solution"):
        await RECIPE.write_part(part, blueprint, made, FIRST, cast(Any, asking))
    known = {name: set(given) for name, given in asking.questions}
    assert not {"request", "at_the_end", "final_test", "answers"} & (
        known["image"] | known["initial_test"]
    )
    assert "request" in known["final_test"] & known["solution"]
    image = json.dumps([given for name, given in asking.questions if name == "image"])
    assert not [each for each in read_errand(blueprint.files).answers if f'"{each}"' in image]


def test_mistakes_come_by_seed_and_rate_and_change_what_is_said() -> None:
    brief = of("services").brief
    for prompt, kinds in MISTAKES.items():
        job = compose_job(brief, SEED)
        clean = WRITERS[prompt](job)
        changed = [name for name, spoil in kinds.items() if WRITERS[prompt](spoil(job)) != clean]
        assert changed == list(kinds), prompt
    inputs = {"brief": brief.model_dump(mode="json")}
    assert (
        answer("errand", inputs, 1, 0, 1.0)
        == answer("errand", inputs, 1, 0, 1.0)
        != answer("errand", inputs, 1, 0, 0.0)
    )


def test_what_is_wrong_with_a_wish_is_said() -> None:
    job = compose_job(
        next(seed for seed in pick(60) if compose_job(seed.brief, SEED).errand.answers).brief, SEED
    )
    told, nowhere = (
        MISTAKES["errand"][name](job).errand for name in ("tells_answer", "forgets_place")
    )
    assert "tells the answer" in "".join(find_errand_faults(told))
    assert "no path of its own" in "".join(find_errand_faults(nowhere))
    assert "names" in "".join(
        find_errand_faults(
            Errand(request="Do it.", at_first="x", at_the_end="y", places=["/srv/a/b"])
        )
    )


@pytest.mark.parametrize(
    ("source", "says"),
    [
        pytest.param(
            "import requests\n\ndef test_a():\n    assert True\n", "not in the image", id="foreign"
        ),
        pytest.param(
            "X = open('/srv/x').read()\n\ndef test_a():\n    assert X\n",
            "while the module is imported",
            id="reads-on-import",
        ),
        pytest.param("def test_a():\n    pass\n", "asserts nothing", id="idle"),
        pytest.param("def check():\n    assert True\n", "no test", id="none"),
        pytest.param(
            "def test_a():\n    assert 'http://example.org/x'\n", "needs a network", id="network"
        ),
        pytest.param(
            "def test_a():\n    assert 1\n\ndef test_a():\n    assert 1\n", "2 times", id="twice"
        ),
        pytest.param("def test_a(client):\n    assert client\n", "takes arguments", id="fixture"),
    ],
)
def test_a_test_file_that_could_end_without_a_word_is_refused(source: str, says: str) -> None:
    assert says in "\n".join(find_exam_faults(source))


@pytest.mark.parametrize(
    ("recipe", "says"),
    [
        pytest.param("FROM b\nENV A=1\n", "ENV", id="env"),
        pytest.param("FROM b\nRUN true\nCOPY a /a\n", "COPY stands after", id="order"),
        pytest.param("FROM b\nRUN apt-get install x\n", "needs a network", id="fetches"),
        pytest.param("FROM b\nCOPY gone /a\n", "no file", id="gone"),
        pytest.param("FROM b\nCOPY a /tmp/a\n", "not the image's", id="scratch"),
        pytest.param("FROM b\nCOPY a b\n", "no absolute path", id="relative"),
    ],
)
def test_an_image_that_cannot_be_read_says_why(recipe: str, says: str) -> None:
    with pytest.raises(BuildError, match=says):
        read_image(Image(recipe=recipe, files={"a": "x"}), "n", "about", "Apache-2.0")


def test_an_image_is_files_and_what_finishes_them() -> None:
    image = Image(
        recipe="FROM b\nCOPY root/ /\nCOPY one /etc/x/\nRUN echo a && \\\n  echo b\n",
        files={"root/srv/a/b": "1", "one": "2"},
    )
    healthy = read_image(image, "n", "about", "Apache-2.0")
    assert {"/srv/a/b": b"1", "/etc/x/one": b"2"}.items() <= healthy.files.items()
    assert re.search("/bin/sh -c 'echo a && +echo b'", healthy.system.set_up)


async def test_a_repair_is_told_what_failed_and_every_version_has_its_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    blueprint, asking = await plan(of("archives")), Asked()
    machine = iter(
        [ErrandTrial("does_not_build", "line 3: RUN false ended with 1", "image"), ErrandTrial()]
    )
    exam = iter(
        [
            ErrandTrial("oracle_fails", "gone", "solution"),
            ErrandTrial("oracle_fails", "again", "final_test"),
            ErrandTrial(goals=("t",)),
        ]
    )

    async def machine_next(*_: Any) -> ErrandTrial:
        return next(machine)

    async def exam_next(*_: Any) -> ErrandTrial:
        return next(exam)

    monkeypatch.setattr(outfitting, "try_machine", machine_next)
    monkeypatch.setattr(outfitting, "try_solution", exam_next)
    made = await outfit(blueprint, RECIPE, cast(Any, None), cast(Any, asking))
    names = [name for name, _ in asking.questions]
    assert names == [
        "initial_test",
        "image",
        "image",
        "final_test",
        "solution",
        "solution",
        "final_test",
    ]
    seen = ["line 3: RUN false ended with 1", "gone", "again"]
    assert all(f"\n1. {words}\n" in told for told, words in zip(asking.told, seen, strict=True))
    assert [(each.repair, each.outcome, each.fault) for each in made.builds] == [
        (0, "failed", "state"), (1, "built", "none"), (2, "failed", "code"), (3, "failed", "test"), (4, "built", "none"),
    ]  # fmt: skip
    assert made.environment is not None


async def test_what_gates_find_goes_to_the_test_and_then_to_the_solution(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def hold(*_: Any) -> ErrandTrial:
        return ErrandTrial(goals=("t",))

    found = iter(
        [
            [Complaint("S4", "mutant_survives", "emptied")],
            [Complaint("S3", "survives_without", "step 2")],
            [],
        ]
    )

    async def judge(*_: Any) -> list[Complaint]:
        return next(found)

    monkeypatch.setattr(outfitting, "try_machine", hold)
    monkeypatch.setattr(outfitting, "try_solution", hold)
    asking = Asked()
    made = await outfit(
        await plan(of("archives")), RECIPE, cast(Any, None), cast(Any, asking), judge
    )
    assert [name for name, _ in asking.questions][-2:] == ["final_test", "solution"]
    assert [
        words in told for words, told in zip(("emptied", "step 2"), asking.told, strict=True)
    ] == [True, True]
    assert [(each.outcome, each.fault) for each in made.builds] == [
        ("built", "none"),
        ("failed", "test"),
        ("failed", "code"),
        ("built", "none"),
    ]
    assert made.environment is not None


async def test_an_errand_that_never_holds_is_given_up_with_its_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: Any) -> ErrandTrial:
        return ErrandTrial("does_not_build", "no", "image")

    monkeypatch.setattr(outfitting, "try_machine", refuse)
    blueprint = await plan(of("archives"))
    result = await build_environment(
        Subject(blueprint.id, "", "", blueprint), make_mill(None), cast(Any, Asked())
    )
    (finding,) = result.findings
    assert (finding.outcome, finding.reason, len(result.records)) == (
        "dropped",
        "does_not_build",
        4,
    )


def assemble(category: str) -> tuple[Job, Any]:
    job = compose_job(of(category).brief, SEED)
    healthy = read_image(job.image, category, "about", "Apache-2.0")
    return job, healthy._replace(exams={INITIAL: job.initial_test, FINAL: job.final_test})


async def sit(container: Container, source: str) -> dict[str, str]:
    return await check_health(
        container, load_system("share")._replace(exams={FINAL: source}), exam=FINAL
    )


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_tests_without_a_verdict_are_an_error(terminals: Sandbox) -> None:
    async with lend_container(terminals) as container:
        said = await sit(
            container,
            "def test_a():\n    assert 1 == 2, 'no'\n\n\ndef test_b(tmp_path):\n    assert "
            "tmp_path.is_dir()\n",
        )
        assert "assert 1 == 2" in said["test_a"]
        assert ("no" in said["test_a"], said["test_b"]) == (True, "")
        for source in ("import os\n\n\ndef test_a():\n    os._exit(0)\n", "X = 1\n"):
            with pytest.raises(SandboxError, match="no report"):
                await sit(container, source)


@pytest.mark.long
@pytest.mark.asyncio(loop_scope="module")
async def test_an_errand_is_outfitted_posed_and_judged(terminals: Sandbox) -> None:
    context, blueprint = make_mill(terminals), await plan(of("text_files"))
    built = await build_environment(
        Subject(blueprint.id, "", "", blueprint), context, cast(Any, Asked())
    )
    environment = built.records[-1]
    assert isinstance(environment, Environment), built.findings
    place = ScenarioSlot(environment, 0)
    draft = (
        await generate_draft(
            Subject(place.id, environment.id, "", place), context, cast(Any, Asked())
        )
    ).records[0]
    assert isinstance(draft, Draft)
    assert find_duplicates([environment])[environment.id].outcome == "kept"
    assert [path for path in environment.files if "test_" in path] == [INITIAL, FINAL]
    if not count(0, 1):
        return
    made = await build_scenario(
        Subject(draft.id, environment.id, "", PlacedScenario(draft, environment)),
        context,
        cast(Any, Asked()),
    )
    scenario = made.records[0]
    assert isinstance(scenario, Scenario), made.findings
    for name in LOOKS:
        subject = (
            ScenarioCase(scenario, environment)
            if name[0] == "S"
            else EnvironmentCase(environment, ())
        )
        finding = await GATES[name].check(cast(Any, subject), GateContext(terminals))
        assert finding.outcome in ("kept", "not_applicable"), finding


class Lax(Asked):
    """Its first final test asks that there be a file, and not what is in it."""

    async def ask(
        self, prompt: Any, inputs: Any, reply: Any, *, complaint: str = "", **more: Any
    ) -> Any:
        asked = await super().ask(prompt, inputs, reply, complaint=complaint, **more)
        if prompt.name != "final_test" or complaint:
            return asked
        places = [place for place in read_places(asked.source) if place.rpartition("/")[2]]
        lines = "".join(
            f'    assert Path("{place}").exists(), "{place} is not there"\n' for place in places
        )
        return asked.model_copy(
            update={
                "source": '"""What is to be there."""\n\nfrom pathlib import Path\n\n\ndef '
                f"test_there():\n{lines}"
            }
        )


def read_places(source: str) -> list[str]:
    return sorted(
        {
            place
            for place in compose_job(of("text_files").brief, SEED).errand.places
            if place in source
        }
    )


@pytest.mark.long
@pytest.mark.soak(area="terminal")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_lax_final_test_is_sent_back_before_there_is_an_environment(
    terminals: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under `make test` the gate that finds it alone is asked: all of them take a minute of a
    core."""
    if not count(0, 1):
        monkeypatch.setattr("envmill.stages.passing._choose", lambda *_: [GATES["S4"]])
    blueprint, asking = await plan(of("text_files")), Lax()
    built = await build_environment(
        Subject(blueprint.id, "", "", blueprint),
        make_mill(terminals, rehearse=True),
        cast(Any, asking),
    )
    context = make_mill(terminals)  # what comes of it has the same content, judged or not
    environment = built.records[-1]
    assert isinstance(environment, Environment), built.findings
    assert "emptied" in asking.told[0]
    draft = (
        await generate_draft(
            Subject("", "", "", ScenarioSlot(environment, 0)), context, cast(Any, Asked())
        )
    ).records[0]
    assert isinstance(draft, Draft)
    made = await build_scenario(
        Subject(draft.id, environment.id, "", PlacedScenario(draft, environment)),
        context,
        cast(Any, Asked()),
    )
    (told,) = built.findings
    assert is_object(told.evidence)
    # Verify finds what was judged here by its content.
    assert (told.evidence["content"], told.evidence["gates"]["S4"]) == (made.records[0].id, "kept")


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(
    count(0, 1) == 0,
    reason="every mistake in every world on real machines: make soak AREA=terminal",
)
@pytest.mark.parametrize("category", sorted(WORLDS))
@pytest.mark.asyncio(loop_scope="module")
async def test_mistakes_are_caught_when_parts_are_tried(terminals: Sandbox, category: str) -> None:
    job, _ = assemble(category)
    for prompt, kinds in MISTAKES.items():
        for name in kinds.keys() & CAUGHT.keys():
            trial = await try_job(MISTAKES[prompt][name](job), terminals)
            assert trial.reason, f"{name} was not seen"
            assert not CAUGHT[name] or trial.reason in CAUGHT[name].split(), (name, trial)


async def try_job(job: Job, sandbox: Sandbox) -> ErrandTrial:
    try:
        healthy = read_image(job.image, "n", "about", "Apache-2.0")
    except BuildError as error:
        return ErrandTrial("bad_image", error.message)
    healthy = healthy._replace(exams={INITIAL: job.initial_test, FINAL: job.final_test})
    trial = await try_machine(healthy, job.errand.answers, sandbox, False)
    return trial if trial.reason else await try_path(job, sandbox)


async def try_path(job: Job, sandbox: Sandbox) -> ErrandTrial:
    """Of a job whose machine holds."""
    healthy = read_image(job.image, "n", "about", "Apache-2.0")
    healthy = healthy._replace(exams={INITIAL: job.initial_test, FINAL: job.final_test})
    return await try_solution(healthy, job.errand, job.commands, sandbox, False)


@pytest.mark.soak(area="terminal")
@pytest.mark.skipif(
    count(0, 1) == 0, reason="sixty scenarios through every gate: make soak AREA=terminal"
)
async def test_sixty_scenarios_over_twelve_categories_pass_every_gate(tmp_path: Path) -> None:
    """Some 40 s of CPU each."""
    config = RunConfig(
        recipe="endless_terminals",
        environments=80,
        seed=SEED,
        mistakes=0.1,
        polarities={"achieve": 1},
        exporters=("dataset",),
    )
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {
            **os.environ,
            **{key: str(tmp_path / name) for key, name in names.items()},
            "ENVMILL_PORT": "0",
        }
    )
    async with open_walk("r1", config, settings, author.answer) as walk:
        await walk.walk(STEPS[: STEPS.index(STEP["scenarios-verify"]) + 1])
    views = open_views(Lake(settings.lake))
    passed = (
        "select subject from attrition where lap = 'scenarios' and stage = 'verify' and gate = "
        "'exit' and outcome = 'kept'"
    )
    category = "json_extract_string(environments.brief, '$.theme')"
    rows = views.execute(
        f"select {category}, count(*) from scenarios join environments on environments.id = "
        "scenarios.environment "
        f"where scenarios.id in ({passed}) group by all"
    ).fetchall()
    assert sum(kept for _, kept in rows) >= 60, rows
    assert len(rows) >= 12, rows
