"""Finds values in English text: words, numbers, dates, patterns, and the choices that a sentence
leaves open."""
