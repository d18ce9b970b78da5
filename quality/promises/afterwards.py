"""What is promised of what is said afterwards: re-verifications, reviews, quarantine,
withdrawals."""

from quality.promise import RowPromise, TablePromises
from quality.promises.shared import between_0_and_1, json_parses, says, unique_key
from schemas.tables import TABLES

AFTERWARDS = (
    TablePromises(
        "verdicts",
        (
            unique_key("verdicts"),
            json_parses("verdicts"),
            RowPromise(
                "no_reward_on_error",
                "an error bears no reward",
                "outcome = 'error' and reward is not null",
                "outcome || ', reward ' || coalesce(reward::varchar, 'null')",
            ),
            between_0_and_1("reward_bounded", "a reward lies in [0, 1]", "reward"),
            says("subject", "it says what was judged"),
        ),
    ),
    TablePromises(
        "reviews",
        (
            unique_key("reviews"),
            json_parses("reviews"),
            says("subject", "it says what was looked at"),
            says("reviewer", "it says who looked"),
        ),
    ),
    TablePromises(
        "quarantine",
        (
            unique_key("quarantine"),
            json_parses("quarantine"),
            RowPromise(
                "table_exists",
                "`table_name` names a table",
                f"table_name not in {tuple(TABLES)}",
                "'table_name is ' || table_name",
            ),
            says("detail", "it says what was wrong"),
        ),
    ),
    TablePromises(
        "withdrawals",
        (
            unique_key("withdrawals"),
            json_parses("withdrawals"),
            says("subject", "it says what is recalled"),
            says("reason", "it says why"),
        ),
    ),
)
