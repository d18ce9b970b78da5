"""`conversations`: how often a simulated user spoils a conversation."""

from envmill.lake.views.base import View

MOST = 0.05
"""Share of a run's conversations that its users may spoil before their numbers should not be relied
on."""

CONVERSATIONS = View(
    name="conversations",
    sql=f"""
        select run, policy, rollout_group, count(*) as conversations,
               count(*) filter (termination = 'user_fault') as user_faults,
               user_faults / conversations as share,
               share > {MOST} as too_many,
               count(*) filter (suspected <> '[]') as suspected,
               count(distinct scenario) filter (termination = 'user_fault') as scenarios,
               mode(misstep) filter (misstep <> '') as most_often
        from rollouts where form = 'conversation'
        group by run, policy, rollout_group""",
    about=f"""One row per run, policy and group of attempts: how many conversations the simulated user spoilt. Such a conversation is an
error and not the policy's failure. In `pass_rate` it counts as an attempt that did not pass, so that no policy gains by spoiling one.
Above {MOST:.0%}, look at the users before you rely on the rates.""",
    columns={
        "run": "Run id.",
        "policy": "Who acted.",
        "rollout_group": "Why the attempts were made: probe, weak or teacher.",
        "conversations": "Attempts in which the user was asked bit by bit.",
        "user_faults": "Of them, ended because the simulated user broke its contract.",
        "share": "Of all conversations.",
        "too_many": "Whether that is more than should be.",
        "suspected": "Conversations whose user's words suggest a misstep, whatever a judge said of it.",
        "scenarios": "Scenarios that the user spoilt.",
        "most_often": "The misstep that was found most often; null when none was.",
    },
    questions=(
        (
            "Do the users of a run do their work?",
            "select run, policy, conversations, user_faults, round(share, 3) as share, too_many "
            "from conversations",
        ),
        (
            "What do their words suggest, and what did a judge say of it?",
            """select one ->> 'misstep' as misstep, one ->> 'ruling' as ruling, count(*) as times
from (select unnest(from_json(suspected, '["json"]')) as one from rollouts) group by all order by times desc, misstep, ruling""",
        ),
        (
            "Which scenarios do they spoil?",
            """select scenario, count(*) as conversations, count(*) filter (termination = 'user_fault') as user_faults
from rollouts where form = 'conversation' group by scenario having user_faults > 0 order by user_faults desc, scenario""",
        ),
    ),
    order="run, policy, rollout_group",
)
