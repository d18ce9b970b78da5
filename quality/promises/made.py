"""What is promised of things that were made: seeds, blueprints, environments, drafts, scenarios,
and what building leaves behind."""

from quality.promise import RowPromise, TablePromise, TablePromises
from quality.promises.shared import between_0_and_1, json_parses, refers_to, says, unique_batch_key

_PLACE = "environment || ':' || format('{:03d}', number)"
_SEED = "case when json_valid(origin) then coalesce(origin ->> 'seed', '') else '' end"


_THEME = "case when json_valid(brief) then coalesce(brief ->> 'theme', '') else '' end"
_ONE_SPLIT = TablePromise(
    "domain_in_one_split",
    "all scenarios of a domain are in one split",
    f"""with placed as (select scenarios.id, draft, scenarios.step, split, {_THEME} as theme
                        from scenarios join environments on environments.id = scenarios.environment),
             torn as (select theme, string_agg(distinct split, ', ' order by split) as splits
                      from placed group by theme having count(distinct split) > 1)
        select id, draft as subject, step, theme || ' is in ' || splits as seen from placed join torn using (theme)""",
)


def _none_in(column: str, about: str) -> RowPromise:
    """A JSON list or object that must hold something; the lake writes an empty one in one way
    only."""
    return RowPromise(f"{column}_there", about, f"{column} in ('[]', '{{}}', 'null')")


MADE = (
    TablePromises(
        "seeds",
        (
            unique_batch_key("seeds"),
            json_parses("seeds"),
            says("licence", "every seed bears a licence, if only `unknown`"),
        ),
        maker="coalesce(nullif(source, ''), id)",
    ),
    TablePromises(
        "blueprints",
        (
            unique_batch_key("blueprints"),
            json_parses("blueprints"),
            says("licence", "every blueprint inherits a licence"),
            _none_in("tools", "a blueprint plans at least one tool"),
            RowPromise(
                "seed_exists",
                "the seed it grew from is a row of seeds",
                f"{_SEED} not in (select id from seeds)",
                f"'seed is ' || {_SEED}",
            ),
        ),
        maker=_SEED,
    ),
    TablePromises(
        "environments",
        (
            unique_batch_key("environments"),
            json_parses("environments"),
            says("licence", "every environment inherits a licence"),
            _none_in("tools", "an environment offers at least one tool"),
            _none_in("files", "an environment has files that run"),
            refers_to("blueprint", "blueprints"),
        ),
        maker="blueprint",
    ),
    TablePromises(
        "builds",
        (
            unique_batch_key("builds"),
            RowPromise(
                "subject_exists",
                "`subject` names a row of seeds or blueprints or drafts, or a place in an "
                "environment",
                "hash(split_part(subject, ':', 1)) not in (select hash(id) from seeds union all "
                "select hash(id) from blueprints "
                "union all select hash(id) from environments union all select hash(id) from "
                "drafts)",
                "'subject is ' || subject",
            ),
            RowPromise(
                "failure_told",
                "a version that failed says how, one that runs has nothing to say",
                "(outcome = 'failed') <> (failure <> '') or repair < 0",
                "outcome || ', failure ' || to_json(failure)",
            ),
        ),
        maker="subject",
    ),
    TablePromises(
        "tests",
        (unique_batch_key("tests"), json_parses("tests"), refers_to("environment", "environments")),
        maker="coalesce((select any_value(blueprint) from raw_environments where "
        "raw_environments.id = environment), '')",
    ),
    TablePromises(
        "errands",
        (
            unique_batch_key("errands"),
            json_parses("errands"),
            refers_to("environment", "environments"),
            says("what", "a line says what is wanted"),
            RowPromise(
                "planned_in_full",
                "a line that a model planned says who asks, and about which records",
                "source = 'planned' and (who = '' or about = '[]')",
                "format('who is {}, about {}', to_json(who), about)",
            ),
        ),
        maker=_PLACE,
    ),
    TablePromises(
        "drafts",
        (
            unique_batch_key("drafts"),
            json_parses("drafts"),
            refers_to("environment", "environments"),
            _none_in("oracle", "a draft has a reference path that was run"),
            says("gold_hash", "the state after the oracle was hashed"),
        ),
        maker=_PLACE,
    ),
    TablePromises(
        "scenarios",
        (
            unique_batch_key("scenarios"),
            json_parses("scenarios"),
            refers_to("environment", "environments"),
            refers_to("draft", "drafts"),
            RowPromise(
                "oracle_pays_and_idling_does_not",
                "a scenario that verify kept pays its oracle 1 and doing nothing 0",
                "id in (select subject from finals where step = 'scenarios-verify' and outcome = "
                "'kept')"
                " and not (oracle_reward = 1 and do_nothing_reward = 0)",
                "format('oracle {}, doing nothing {}', oracle_reward, do_nothing_reward)",
                step="scenarios-verify",
                costs_subject=True,
            ),
            between_0_and_1(
                "oracle_reward_bounded", "the oracle's reward lies in [0, 1]", "oracle_reward"
            ),
            between_0_and_1(
                "do_nothing_reward_bounded",
                "the reward of doing nothing lies in [0, 1]",
                "do_nothing_reward",
            ),
            _ONE_SPLIT,
        ),
        maker="draft",
    ),
)
