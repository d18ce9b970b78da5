"""Importers by name: each turns what another system released into bundle folders."""

from envmill.interop.importers import awm, endless, envfactory, envscaler, harbor, tau2
from envmill.interop.importers.base import Importer

IMPORTERS: dict[str, Importer] = {
    "envscaler": envscaler.import_release,
    "awm": awm.import_release,
    "envfactory": envfactory.import_release,
    harbor.SYSTEM: harbor.import_folders,
    endless.SYSTEM: endless.import_folders,
    tau2.SYSTEM: tau2.import_release,
}
