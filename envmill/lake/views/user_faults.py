"""`user_faults`: which simulated users spoil conversations, and how."""

from envmill.lake.views.base import View

USER_FAULTS = View(
    name="user_faults",
    sql="""
        select r.run, r.person, r.manner, coalesce(s.user ->> 'persona', '') as persona,
               count(*) as conversations,
               count(*) filter (r.termination = 'user_fault') as user_faults,
               user_faults / conversations as share,
               count(*) filter (r.suspected <> '[]') as suspected,
               count(*) filter (r.outcome = 'pass') / nullif(count(*) filter (r.outcome <> 'error'), 0) as pass_rate,
               mode(r.misstep) filter (r.misstep <> '') as most_often
        from rollouts as r left join scenarios as s on s.run = r.run and s.id = r.scenario
        where r.form = 'conversation'
        group by all""",
    about="""One row per run, player, manner and persona: how many conversations such a user spoilt. A spoilt conversation ends in
`error` and is attributed to the user (`misstep`), never to the policy.""",
    columns={
        "run": "Run id.",
        "person": "Who played the user: `scripted` or `model`; empty in rollouts of older versions.",
        "manner": "How they talked; empty where the contract alone said it.",
        "persona": "Who they were, in the contract's words; empty where it says nothing.",
        "conversations": "Attempts in which such a user took part.",
        "user_faults": "Of them, ended because the user broke their contract.",
        "share": "Of all conversations with such a user.",
        "suspected": "Conversations in which the user's words suggest a misstep, whatever a judge said of "
        "it.",
        "pass_rate": "Passes per judged conversation; null when none was judged.",
        "most_often": "The misstep that was found most often; null when none was.",
    },
    questions=(
        (
            "Which users break their contract?",
            """select manner, persona, conversations, user_faults, round(share, 3) as share, most_often
from user_faults order by share desc, manner, persona""",
        ),
        (
            "Do users who talk differently make a scenario harder?",
            """select manner, sum(conversations) as conversations, round(avg(pass_rate), 3) as pass_rate
from user_faults group by manner order by manner""",
        ),
        (
            "Which missteps does each player make?",
            """select person, misstep, count(*) as times from rollouts where form = 'conversation' and misstep <> ''
group by all order by times desc, person, misstep""",
        ),
    ),
    order="run, person, manner, persona",
)
