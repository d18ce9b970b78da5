"""Parts of the sandbox's bench: the sample, what it is held against, and the measurements by where
they are taken from."""
