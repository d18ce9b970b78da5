"""The line of steps: opens a run, loads what each step works on, runs it, and re-runs, estimates
and audits what was done."""
