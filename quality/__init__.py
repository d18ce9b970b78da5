"""What guards the tables: promises in SQL that each row keeps, and suites of Great Expectations
over a night's rows.

promises ──survey──► violating rows, counts ──gate──► report           at the end of each step, and of the run
rows ──frames──► means beside those of the last nights ──suites──► outcome, Data Docs      before the export
"""
