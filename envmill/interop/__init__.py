"""What enters from other systems and what leaves for them: importers, exporters, bundles, Harbor
folders."""
