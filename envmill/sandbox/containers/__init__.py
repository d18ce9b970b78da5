"""Containers: a root file system and processes behind one interface, held by one of the engines in the table."""

from envmill.sandbox.containers.base import Change, Condition, Container, Engine, Layer, Limits, Moved, Ran, lend
from envmill.sandbox.containers.box import Boxes
from envmill.sandbox.containers.image import Image, find_base

__all__ = ["Boxes", "Change", "Condition", "Container", "Engine", "Image", "Layer", "Limits", "Moved", "Ran", "find_base", "lend"]
