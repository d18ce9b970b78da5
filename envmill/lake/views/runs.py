"""`runs`: one row per run."""

from envmill.lake.views.base import View

RUNS = View(
    name="runs",
    sql="""
        select run,
               min(happened_at) as started,
               arg_max(event, happened_at) as state,
               max(happened_at) as last_event,
               count(*) filter (event = 'started') as starts,
               arg_min(detail ->> 'recipe', happened_at) filter (event = 'started') as recipe,
               arg_min(detail ->> 'provider', happened_at) filter (event = 'started') as provider,
               arg_min(detail, happened_at) filter (event = 'started') as config
        from run_events
        group by run""",
    about="What was asked of each run, and how far it got.",
    columns={
        "run": "Run id.",
        "started": "When it first started, ISO 8601 UTC.",
        "state": "Newest thing that happened to it: started, finished, failed, crashed.",
        "last_event": "When that was.",
        "starts": "How often it was started; each Retry and each step on its own counts.",
        "recipe": "How its environments are thought up.",
        "provider": "Who answers its prompts; `offline` is plumbing, never a measure of difficulty.",
        "config": "What it was asked to do, as JSON.",
    },
    questions=(
        (
            "How did the latest runs end?",
            "select run, started, state, starts from runs order by started desc limit 5",
        ),
        (
            "Which runs are not finished?",
            "select run, state, last_event from runs where state <> 'finished'",
        ),
        (
            "How large were they asked to be?",
            "select run, config ->> 'environments' as environments, config ->> 'seed' as seed "
            "from runs",
        ),
    ),
    order="started, run",
)
