"""Runs of many scenarios, in bounded memory."""
