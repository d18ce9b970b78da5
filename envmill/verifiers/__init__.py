"""Verifiers: how the end of a rollout is judged, and how a verifier is derived from a reference
path."""
