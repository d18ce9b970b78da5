"""Great Expectations: one suite per table, stating what the table promises, and the gate that runs them over frames it is given.

promises ──survey──► violating rows, counts ──suites──► report
"""
