"""The report of a run: a folder that any browser opens from the disk, with every number's rows
behind it.

lake ─► overview (plain, first)          ─┐
     ─► indexes (lists, when opened)      ├─► folder of scripts ─► page, with no server and no network
     ─► records by id (one at a time)    ─┘
"""
