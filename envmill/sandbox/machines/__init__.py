"""Machines: a healthy system in a container, the session that agents have there, and the
examination of what they left."""
