"""What the ledger promises: runs, exits, dossiers and model calls add up."""

from quality.promise import RowPromise, TablePromise, TablePromises
from quality.promises.shared import between_0_and_1, json_parses, unique_batch_key, unique_key
from quality.promises.sums import SUMS

_FREE = "('offline', 'replay')"
"""Providers whose price is known to be zero."""

_PASSED, _ATTEMPTS = (
    f"try_cast(try(finding ->> '{name}') as bigint)" for name in ("passed", "attempts")
)

LEDGER = (
    TablePromises(
        "run_events",
        (
            unique_key("run_events"),
            json_parses("run_events"),
            TablePromise(
                "started",
                "a run that has events has started",
                "select '' as id, '' as subject, 'run' as step, 'no event says started' as seen"
                " where 'started' not in (select event from run_events)",
            ),
        ),
    ),
    TablePromises(
        "attrition",
        (
            unique_key("attrition"),
            *SUMS,
            RowPromise(
                "step_named",
                "lap and stage are those of the step that wrote the row",
                "lap || '-' || stage <> step",
                "lap || ' ' || stage || ' at ' || step",
                severity="invariant",
            ),
            RowPromise(
                "reason_given",
                "what is dropped or in error has a reason, what is kept has none",
                "(outcome in ('dropped', 'error') and reason = '') or (outcome = 'kept' and "
                "reason <> '')",
                "outcome || ', reason ' || to_json(reason)",
            ),
            RowPromise(
                "evidence_exists",
                "`evidence` names a row of gate_evidence, or nothing",
                "evidence <> '' and hash(evidence) not in (select hash(id) from gate_evidence)",
                "'evidence is ' || evidence",
            ),
            RowPromise(
                "spent_counts",
                "seconds, tokens and children are never negative; a gate makes no children",
                "not (isfinite(seconds) and seconds >= 0 and tokens >= 0 and children >= 0) or "
                "(gate <> 'exit' and children <> 0)",
                "format('seconds {}, tokens {}, children {}', seconds, tokens, children)",
            ),
            RowPromise(
                "cost_known",
                "cost is null only where a model call of the subject has an unknown price, and "
                "never negative",
                "coalesce(not (isfinite(cost) and cost >= 0), false)"
                " or (cost is null and ((select judges_calls from asked)) and"
                " hash(step, subject) not in (select hash(step, subject) from model_calls where "
                "cost is null))",
                "'cost is ' || coalesce(cost::varchar, 'null')",
            ),
        ),
        maker="subject",
    ),
    TablePromises(
        "gate_evidence",
        (
            unique_key("gate_evidence", "step", "fingerprint", "bucket", "try_number"),
            json_parses("gate_evidence"),
            RowPromise(
                "subject_seen",
                "a dossier's candidate went through its step",
                "gate not in ('quality', 'night') and hash(subject) not in (select hash(subject) "
                "from raw_attrition)",
                "'subject is ' || subject",
            ),
            RowPromise(
                "pass_rate_holds",
                "a pass rate lies in [0, 1] and is what the probe rollouts say",
                f"""gate = 'F1' and coalesce(
                    not {_PASSED} between 0 and {_ATTEMPTS} or {_ATTEMPTS} < 1 or hash(subject, {_PASSED}, {_ATTEMPTS}) not in (
                        select hash(scenario, count(*) filter (outcome = 'pass'), count(*) filter (outcome <> 'error')) from (
                            select scenario, max_by(outcome, try_number) as outcome from rollouts
                            where rollout_group = 'probe' group by scenario, hash(id)) group by scenario), true)""",
                "finding",
                costs_subject=True,
            ),
        ),
        maker="subject",
    ),
    TablePromises(
        "attacks",
        (
            unique_batch_key("attacks"),
            json_parses("attacks"),
            RowPromise(
                "scenario_exists",
                "`scenario` and `environment` name a scenario and the environment it is posed in",
                "hash(scenario, environment) not in (select hash(id, environment) from scenarios)",
                "'scenario is ' || scenario || ', environment ' || environment",
            ),
            between_0_and_1("reward_bounded", "reward lies in [0, 1]", "reward"),
        ),
        maker="scenario",
    ),
    TablePromises(
        "model_calls",
        (
            unique_key("model_calls"),
            json_parses("model_calls"),
            RowPromise(
                "cost_known",
                "cost is null only for a reply of a provider that has prices, and never negative",
                "coalesce(not (isfinite(cost) and cost >= 0), false)"
                " or (cost is null and (reused or outcome in ('outage', 'refused') or provider "
                f"in {_FREE}))",
                "provider || ', ' || outcome || ', cost ' || coalesce(cost::varchar, 'null')",
            ),
            RowPromise(
                "usage_counts",
                "tokens, retries and seconds are never negative; a part is no more than its "
                "whole; a reused reply has used no tokens",
                "not (isfinite(latency) and latency >= 0 and isfinite(waited) and waited >= 0 and "
                "retries >= 0 and"
                " least(possibly_paid, possibly_paid_tokens) >= 0 and"
                " least(tokens_cached, tokens_cache_write, tokens_reasoning) >= 0 and"
                " tokens_in >= tokens_cached + tokens_cache_write and tokens_out >= "
                "tokens_reasoning)"
                " or (reused and tokens_in + tokens_out > 0)",
                "format('latency {}, tokens {} and {}, retries {}', latency, tokens_in, "
                "tokens_out, retries)",
            ),
            RowPromise(
                "price_sourced",
                "what was paid for says where its price was read; a call whose price is unknown "
                "names no source",
                "(cost > 0 and price_source = '') or (cost is null and price_source <> '')",
                "'cost ' || coalesce(cost::varchar, 'null') || ', source ' || "
                "to_json(price_source)",
            ),
            RowPromise(
                "failure_told",
                "a call that gave nothing usable says why, a usable one has nothing to say",
                "(outcome = 'reply') <> (error = '')",
                "outcome || ', error ' || to_json(error)",
            ),
        ),
    ),
)
