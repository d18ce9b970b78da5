"""What is promised of what was played: rollouts, trajectories, pairs, bundles."""

from quality.promise import RowPromise, TablePromises
from quality.promises.shared import between_0_and_1, json_parses, says, unique_batch_key

# null for text that does not parse, which is another promise's breach
_MESSAGES = "try(json_array_length(messages))"
_FLAGS = "case when loss = '[]' then 0 else 1 + len(loss) - len(replace(loss, ',', '')) end"

_FILES = "try_cast(case when json_valid(files) then files end::json as map(varchar, bigint))"

_SPLIT = RowPromise(
    "split_of_its_scenario",
    "it is in the split of its scenario",
    "hash(scenario, split) not in (select hash(id, split) from scenarios)",
    "'split is ' || split",
)

PLAYED = (
    TablePromises(
        "rollouts",
        (
            unique_batch_key("rollouts"),
            json_parses("rollouts"),
            RowPromise(
                "scenario_exists",
                "`scenario` and `environment` name a scenario and the environment it is posed in",
                "hash(scenario, environment) not in (select hash(id, environment) from scenarios)",
                "'scenario is ' || scenario || ', environment ' || environment",
            ),
            RowPromise(
                "reward_null_on_error",
                "reward is null exactly when the outcome is error",
                "(outcome = 'error') <> (reward is null)",
                "outcome || ', reward ' || coalesce(reward::varchar, 'null')",
            ),
            between_0_and_1("reward_bounded", "a reward lies in [0, 1]", "reward"),
            RowPromise(
                "steps_counted",
                "steps and attempts are never negative",
                "steps < 0 or attempt < 0",
                "format('{} steps', steps)",
            ),
        ),
        maker="scenario",
    ),
    TablePromises(
        "trajectories",
        (
            unique_batch_key("trajectories"),
            json_parses("trajectories"),
            RowPromise(
                "rollout_passed",
                "`rollout` names a rollout that passed, of the same scenario, environment and "
                "policy, with the same reward",
                "hash(rollout, scenario, environment, policy, reward) not in"
                " (select hash(id, scenario, environment, policy, reward) from rollouts where "
                "outcome = 'pass')",
                "'rollout is ' || rollout || ', reward ' || reward",
            ),
            RowPromise(
                "messages_weighed",
                "every message says whether it is trained on, and one at least is",
                f"coalesce({_MESSAGES} <> {_FLAGS}, false) or not contains(loss, 'true')",
                f"format('{{}} messages, {{}} flags', coalesce({_MESSAGES}, 0), {_FLAGS})",
            ),
            _SPLIT,
            says("licence", "every trajectory bears its environment's licence"),
        ),
        maker="scenario",
    ),
    TablePromises(
        "pairs",
        (
            unique_batch_key("pairs"),
            json_parses("pairs"),
            RowPromise(
                "one_passed_one_failed",
                "`chosen` names a rollout that passed, `rejected` one that failed, of the same "
                "scenario and policy",
                "hash(chosen, scenario, policy) not in (select hash(id, scenario, policy) from "
                "rollouts where outcome = 'pass')"
                " or hash(rejected, scenario, policy) not in (select hash(id, scenario, policy) "
                "from rollouts where outcome = 'fail')",
                "'chosen is ' || chosen || ', rejected ' || rejected",
            ),
            RowPromise(
                "margin_positive",
                "the chosen one earned more",
                "not coalesce(isfinite(margin) and margin > 0 and margin <= 1, false)",
                "'margin is ' || margin",
            ),
            RowPromise(
                "both_go_on",
                "both go on after they part, and each with something the policy said",
                "not contains(better_loss, 'true') or not contains(worse_loss, 'true')",
            ),
            _SPLIT,
            says("licence", "every pair bears its environment's licence"),
        ),
        maker="scenario",
    ),
    TablePromises(
        "bundles",
        (
            unique_batch_key("bundles"),
            json_parses("bundles"),
            RowPromise(
                "not_empty",
                "a bundle holds rows, and bytes in its files",
                f"rows < 1 or coalesce(list_sum(map_values({_FILES})), 0) < 1",
                "format('{} rows, files ', rows) || files",
            ),
        ),
        maker="'run:' || run",
    ),
)
