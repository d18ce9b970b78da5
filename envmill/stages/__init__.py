"""One module per stage of the line, and the context they share. Records in, records out."""
