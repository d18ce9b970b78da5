"""The processes that run generated code: driver, zygote, templates, sessions, and the layers around
them.

Standard library only, like the rest of `runtime`: exports carry it along, and whatever a zygote
imports is in every session.
"""
