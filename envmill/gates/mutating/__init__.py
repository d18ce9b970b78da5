"""Programs and reference paths with one thing changed, and programs compared as trees."""
