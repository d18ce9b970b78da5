"""Importers by name: each turns what another system released into bundle folders."""

from envmill.importers import awm, envfactory, envscaler
from envmill.importers.base import Importer

IMPORTERS: dict[str, Importer] = {"envscaler": envscaler.import_release, "awm": awm.import_release, "envfactory": envfactory.import_release}
