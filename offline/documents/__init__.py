"""Domains out of documents: what tools and their tables tell, as a model from which all else is
written as for any other."""

from offline.documents.compose import compose_outline

__all__ = ["compose_outline"]
