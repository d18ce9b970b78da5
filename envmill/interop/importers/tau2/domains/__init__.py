"""Programs of τ²-bench's domains, written anew from what `tools.json` and the public description say of each tool.

They are texts for the jail: the importer reads them as files and never imports them.
"""
