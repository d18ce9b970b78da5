"""Every table of the lake and what it promises: one literal table."""

from quality.promise import TablePromises
from quality.promises.afterwards import AFTERWARDS
from quality.promises.ledger import LEDGER
from quality.promises.made import MADE
from quality.promises.played import PLAYED

PROMISES: dict[str, TablePromises] = {
    found.table: found for found in (*LEDGER, *MADE, *PLAYED, *AFTERWARDS)
}
