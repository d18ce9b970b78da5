"""Whether a run is finished, asked of the lake alone: no model, no jail, and nothing is written."""

from envmill.lake.lake import Lake
from envmill.pipeline.choice import is_mined
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import STEPS
from envmill.pipeline.runner import list_lacking, mark_steps
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from schemas.ledger import RunEvent
from schemas.run import RunConfig


def is_finished(lake: Lake, run: str) -> bool:
    """Its last event says so, of the whole line, and as the program is now no step lacks anything.
    A run of rounds is not looked at."""
    events = sorted(lake.read(RunEvent, run), key=lambda one: one.happened_at)
    if not events or events[-1].event != "finished" or STEPS[-1].name not in events[-1].detail:
        return False
    config = RunConfig.read(lake.fix(run, "config", {}))
    recipe = RECIPES[config.recipe](read_themes(), config.whole)
    if config.target is not None or is_mined(config, recipe):
        return False
    marks = mark_steps(config, recipe, STEPS)
    upstream = StepInputs(lake, run, marks, config, recipe)
    return not any(
        list_lacking(lake, run, marks[step.name], step.enter(upstream).ids) for step in STEPS
    )
